#include "elastic/report/savings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

namespace scavenger::elastic {
namespace {

using Predicted = fact::PredictedConfiguration;

bool is_same(const Predicted& a, const Predicted& b) {
  return a.workers == b.workers && a.batch_size == b.batch_size;
}

class NaiveList final {
 public:
  explicit NaiveList(const Predicted& used) : used_(used) {}

  void add(std::string_view why, const Predicted& one) {
    const bool is_known = std::ranges::any_of(
        list_, [&](const NaiveConfiguration& known) { return is_same(known.predicted, one); });
    if (!is_known && !is_same(one, used_)) list_.push_back({why, one, {}, {}});
  }
  std::vector<NaiveConfiguration> take() { return std::move(list_); }

 private:
  const Predicted& used_;
  std::vector<NaiveConfiguration> list_;
};

// By (K, B): the first of both, or the last.
bool has_less_of_both(const Predicted& a, const Predicted& b) {
  return a.workers != b.workers ? a.workers < b.workers : a.batch_size < b.batch_size;
}

bool has_more_workers_less_batch(const Predicted& a, const Predicted& b) {
  return a.workers != b.workers ? a.workers > b.workers : a.batch_size < b.batch_size;
}

std::vector<NaiveConfiguration> naive_configurations(const RunNumbers& numbers,
                                                     std::vector<Predicted> grid,
                                                     const Predicted& used) {
  NaiveList naive(used);
  if (!numbers.phases.empty()) {
    const fact::Membership& first = numbers.phases.front().membership;
    for (const Predicted& one : grid)
      if (one.workers == first.workers && one.batch_size == first.batch_size)
        naive.add("as configured", one);
  }
  naive.add("the slowest", *std::ranges::max_element(grid, {}, &Predicted::seconds));
  naive.add("the dearest", *std::ranges::max_element(grid, {}, &Predicted::cost));
  naive.add("fewest workers, smallest batch", *std::ranges::min_element(grid, has_less_of_both));
  naive.add("most workers, smallest batch",
            *std::ranges::min_element(grid, has_more_workers_less_batch));
  naive.add("most workers, largest batch", *std::ranges::max_element(grid, has_less_of_both));
  std::ranges::sort(grid, {}, &Predicted::seconds);
  naive.add("the middle of all, by time", grid[grid.size() / 2]);
  return naive.take();
}

double worker_hours(const RunNumbers& numbers) {
  double seconds = 0.0;
  for (const PhaseNumbers& phase : numbers.phases)
    seconds += phase.seconds * phase.membership.workers;
  return seconds / 3600.0;
}

// The last membership that has trained; null where none has.
const fact::Membership* used_membership(const RunNumbers& numbers) {
  for (auto phase = numbers.phases.rbegin(); phase != numbers.phases.rend(); ++phase)
    if (phase->iterations > 0) return &phase->membership;
  return nullptr;
}

// How far the ends of a prediction's interval are from its value, on the scale of ln(seconds).
struct Reach {
  double down = 0.0;
  double up = 0.0;
};

Reach reach_of(const Predicted& one) {
  if (!(one.seconds_low > 0.0) || !(one.seconds_high >= one.seconds)) {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    return {kUnknown, kUnknown};
  }
  return {std::log(one.seconds / one.seconds_low), std::log(one.seconds_high / one.seconds)};
}

// Errors of both are taken as independent. Cost goes with the seconds.
PartSaved part_saved_with(double value, const Reach& own, double other, const Reach& others) {
  const double ratio = other > 0.0 ? value / other : 1.0;
  return {1.0 - ratio, 1.0 - ratio * std::exp(std::hypot(own.up, others.down)),
          1.0 - ratio * std::exp(-std::hypot(own.down, others.up))};
}

}  // namespace

std::optional<OnDemandSavings> savings_against_on_demand(const RunNumbers& numbers) {
  if (!numbers.bill.has_spot()) return std::nullopt;
  return OnDemandSavings{numbers.cost, numbers.bill.on_demand_cost(numbers.seconds)};
}

std::optional<NaiveSavings> savings_against_naive(const RunNumbers& numbers) {
  if (!numbers.prediction) return std::nullopt;
  const fact::Prediction& prediction = numbers.prediction->fact;
  std::vector<Predicted> grid;
  for (const Predicted& one : prediction.candidates) {
    if (!std::isfinite(one.seconds) || !std::isfinite(one.cost)) continue;
    grid.push_back(one);
  }
  const fact::Membership* const membership = used_membership(numbers);
  if (membership == nullptr || grid.empty()) return std::nullopt;
  NaiveSavings savings;
  savings.is_relative = prediction.relative;
  savings.is_measured = !prediction.relative && numbers.target_reached.has_value();
  savings.used.workers = membership->workers;
  savings.used.batch_size = membership->batch_size;
  const auto predicted =
      std::ranges::find_if(grid, [&](const Predicted& one) { return is_same(one, savings.used); });
  if (predicted != grid.end())
    savings.used = *predicted;
  else if (!savings.is_measured)
    return std::nullopt;
  savings.seconds = savings.used.seconds;
  savings.cost = savings.used.cost;
  if (savings.is_measured) {
    savings.seconds = numbers.seconds;
    savings.cost = numbers.start.price_per_worker_hour > 0.0 ? numbers.cost : worker_hours(numbers);
  }
  savings.naive = naive_configurations(numbers, std::move(grid), savings.used);
  if (savings.naive.empty()) return std::nullopt;
  const Reach own = savings.is_measured ? Reach{} : reach_of(savings.used);
  for (NaiveConfiguration& one : savings.naive) {
    const Reach others = reach_of(one.predicted);
    one.seconds_saved = part_saved_with(savings.seconds, own, one.predicted.seconds, others);
    one.cost_saved = part_saved_with(savings.cost, own, one.predicted.cost, others);
  }
  return savings;
}

double part_saved(double value, double other) {
  return other > 0.0 ? 1.0 - value / other : 0.0;
}

}  // namespace scavenger::elastic
