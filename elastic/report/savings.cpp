#include "elastic/report/savings.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace scavenger::elastic {
namespace {

using Predicted = fact::PredictedConfiguration;

bool is_same(const Predicted& a, const Predicted& b) {
  return a.workers == b.workers && a.batch_size == b.batch_size;
}

class NaiveList final {
 public:
  explicit NaiveList(const Predicted& chosen) : chosen_(chosen) {}

  void add(std::string_view why, const Predicted& one) {
    const bool is_known = std::ranges::any_of(
        list_, [&](const NaiveConfiguration& known) { return is_same(known.predicted, one); });
    if (!is_known && !is_same(one, chosen_)) list_.push_back({why, one});
  }
  std::vector<NaiveConfiguration> take() { return std::move(list_); }

 private:
  const Predicted& chosen_;
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
                                                     const Predicted& chosen) {
  NaiveList naive(chosen);
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

}  // namespace

std::optional<OnDemandSavings> savings_against_on_demand(const RunNumbers& numbers) {
  if (!numbers.bill.has_spot()) return std::nullopt;
  return OnDemandSavings{numbers.cost, numbers.bill.on_demand_cost(numbers.seconds)};
}

std::optional<NaiveSavings> savings_against_naive(const RunNumbers& numbers) {
  if (!numbers.prediction) return std::nullopt;
  const fact::Prediction& prediction = numbers.prediction->fact;
  std::vector<Predicted> grid;
  std::optional<Predicted> chosen;
  for (const Predicted& one : prediction.candidates) {
    if (!std::isfinite(one.seconds) || !std::isfinite(one.cost)) continue;
    grid.push_back(one);
    if (one.workers == prediction.workers && one.batch_size == prediction.batch_size) chosen = one;
  }
  if (!chosen) return std::nullopt;
  NaiveSavings savings;
  savings.is_relative = prediction.relative;
  savings.is_measured = !prediction.relative && numbers.target_reached.has_value();
  savings.seconds = chosen->seconds;
  savings.cost = chosen->cost;
  savings.chosen = *chosen;
  if (savings.is_measured) {
    savings.seconds = numbers.seconds;
    savings.cost = numbers.start.price_per_worker_hour > 0.0 ? numbers.cost : worker_hours(numbers);
  }
  savings.naive = naive_configurations(numbers, std::move(grid), *chosen);
  if (savings.naive.empty()) return std::nullopt;
  return savings;
}

double part_saved(double value, double other) {
  return other > 0.0 ? 1.0 - value / other : 0.0;
}

}  // namespace scavenger::elastic
