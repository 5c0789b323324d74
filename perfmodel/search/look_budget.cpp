#include "perfmodel/search/look_budget.h"

namespace scavenger::perfmodel {

Expense allowed(const SearchSituation& now) {
  return {now.budget * now.elapsed_seconds, now.budget * now.elapsed_dollars};
}

bool fits(const SearchSituation& now, const Expense& expense, double times_elapsed) {
  const Expense most = allowed(now);
  const bool time_fits = expense.seconds <= times_elapsed * most.seconds;
  const bool cost_fits = expense.dollars <= times_elapsed * most.dollars;
  switch (now.policy) {
    case Policy::kMinimumTime:
      return time_fits;
    case Policy::kMinimumCost:
      return cost_fits;
    case Policy::kKnee:
      break;
  }
  return time_fits && cost_fits;
}

double left_seconds(const SearchSituation& now) {
  return now.left_seconds.value_or(now.elapsed_seconds);
}

double share_of_left(const SearchSituation& now, const Stay& base, const Expense& cost) {
  const double of_time = cost.seconds / left_seconds(now);
  const double of_cost = cost.dollars / (left_seconds(now) * base.dollars_per_second);
  switch (now.policy) {
    case Policy::kMinimumTime:
      return of_time;
    case Policy::kMinimumCost:
      return of_cost;
    case Policy::kKnee:
      break;
  }
  return of_time + of_cost;
}

}  // namespace scavenger::perfmodel
