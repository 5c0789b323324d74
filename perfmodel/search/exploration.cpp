#include "perfmodel/search/exploration.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

// As it was last measured there; before anything was, as the whole stay went.
double pace_of(const Stay& stay) {
  if (stay.last) return stay.last->seconds;
  if (stay.whole) return stay.whole->seconds;
  return stay.iterations > 0 ? stay.seconds / static_cast<double>(stay.iterations) : 0.0;
}

Expense charge_of_visit(const Stay& visit, const Stay& base) {
  return excess({.at = visit.configuration,
                 .dollars_per_second = visit.dollars_per_second,
                 .base = base.configuration,
                 .base_pace = pace_of(base),
                 .base_dollars_per_second = base.dollars_per_second},
                visit.seconds, static_cast<double>(visit.iterations));
}

}  // namespace

Expense excess(const Beside& beside, double seconds, double iterations) {
  const double worth = std::min(1.0, beside.at.global_batch / beside.base.global_batch);
  const double at_base = iterations * worth * beside.base_pace;
  const double paid = std::max(beside.dollars_per_second, beside.base_dollars_per_second);
  return {std::max(0.0, seconds - at_base),
          std::max(0.0, seconds * paid - at_base * beside.base_dollars_per_second)};
}

Expense charged(std::span<const Stay> stays) {
  SCAVENGER_CHECK(!stays.empty() && stays.front().kind == StayKind::kBase);
  Expense sum;
  std::size_t base = 0;
  for (std::size_t i = 1; i < stays.size(); ++i) {
    const Stay& stay = stays[i];
    if (stay.configuration == stays[i - 1].configuration && stay.kind == StayKind::kBase) {
      base = i;  // other workers, or other shares: nothing that a search did
      continue;
    }
    sum.seconds += stay.change_seconds;
    sum.dollars += stay.change_seconds * stay.dollars_per_second + stay.start_dollars;
    if (stay.kind == StayKind::kVisit) {
      const Expense lost = charge_of_visit(stay, stays[base]);
      sum.seconds += lost.seconds;
      sum.dollars += lost.dollars;
    } else {
      base = i;
    }
  }
  return sum;
}

std::size_t base_of(std::span<const Stay> stays) {
  for (std::size_t i = stays.size(); i-- > 0;)
    if (stays[i].kind != StayKind::kVisit) return i;
  return 0;
}

}  // namespace scavenger::perfmodel
