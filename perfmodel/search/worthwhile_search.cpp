#include "perfmodel/search/worthwhile_search.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

// The first iterations after a change are not measured; then as few are measured as decide.
constexpr double kDiscarded = 3.0;
constexpr std::uint64_t kFewest = 3;
constexpr double kExpectedIterations = 8.0;
constexpr double kClear = 3.0;      // standard deviations at which more iterations change nothing
constexpr double kPessimist = 1.3;  // standard deviations: one look in ten takes longer
// Of pairs: means of iterations that follow each other are not independent, and what one iteration
// scatters is not known from a few.
constexpr double kUsualIterationScatter = 0.05;
constexpr double kUsualDrift = 0.02;     // from one stay to the next
constexpr double kRoughDeviation = 0.3;  // of what is known from the first iterations alone
// Each look adds two memberships to the run, whose numbers are kept one by one.
constexpr std::ptrdiff_t kMostLooks = 40;
constexpr double kUsualNoiseBatches = 4.0;  // B_s, in smallest batches, before it was measured

bool is_same(const Configuration& a, const Configuration& b) {
  return a.workers == b.workers && a.global_batch == b.global_batch;
}

// Variance of ln(mean).
double variance_of(const MeasuredPace& pace) {
  const auto n = static_cast<double>(pace.iterations);
  const double own = pace.relative_error * pace.relative_error;
  constexpr double kPriorIterations = 3.0;
  return (n * own + kPriorIterations * kUsualIterationScatter * kUsualIterationScatter / n) /
         (n + kPriorIterations);
}

std::optional<MeasuredPace> pace_at_end(const Stay& stay) {
  if (stay.last) return stay.last;
  return stay.whole;
}

std::optional<MeasuredPace> rough_pace(const Stay& stay) {
  if (stay.whole) return stay.whole;
  if (stay.iterations == 0) return std::nullopt;
  const auto n = static_cast<double>(stay.iterations);
  return MeasuredPace{stay.seconds / n, kRoughDeviation, 1};
}

class Look final {
 public:
  explicit Look(const SearchSituation& situation)
      : now_(situation), base_(situation.stays[base_of(situation.stays)]) {
    SCAVENGER_CHECK(!situation.stays.empty() && !situation.candidates.empty());
    std::vector<Configuration> configurations;
    smallest_batch_ = situation.candidates.front().configuration.global_batch;
    for (const PricedConfiguration& one : situation.candidates) {
      configurations.push_back(one.configuration);
      smallest_batch_ = std::min(smallest_batch_, one.configuration.global_batch);
    }
    base_place_ = place_of(base_.configuration);
    drift_ = drift_variance();
    look_variance_ = drift_ + kUsualIterationScatter * kUsualIterationScatter / kExpectedIterations;
    if (const auto pace = pace_at_end(base_)) look_variance_ += variance_of(*pace);
    times_.emplace(configurations, pairs());
  }

  SearchAdvice advise() const;
  std::vector<RelativeObjective> objectives() const;

 private:
  struct Offer {
    double gain = 0.0;
    double cost = 0.0;
    double seconds = 0.0;
  };

  std::size_t place_of(const Configuration& wanted) const;
  std::vector<PairedTime> pairs() const;
  double drift_variance() const;
  double iterations_factor(std::size_t i) const;
  double price_factor(std::size_t i) const;
  double objective_factor(std::size_t i) const;
  double power() const { return now_.policy == Policy::kKnee ? 2.0 : 1.0; }
  RelativeObjective objective(std::size_t i) const;
  Expense allowed() const {
    return {now_.budget * now_.elapsed_seconds, now_.budget * now_.elapsed_dollars};
  }
  bool fits(const Expense& expense) const;
  Expense cost_of_moves(std::size_t i) const;
  Expense cost_of_look(std::size_t i, double iterations, double ratio) const;
  Offer offer(std::size_t i) const;
  bool may_look(std::size_t i) const;
  bool is_seen_enough(const Stay& visit, std::size_t i, const Expense& charged) const;
  SearchAdvice end_look(SearchAdvice advice) const;
  SearchAdvice begin_look(SearchAdvice advice) const;

  const SearchSituation& now_;
  const Stay& base_;
  std::size_t base_place_ = 0;
  double smallest_batch_ = 0.0;
  double drift_ = 0.0;          // variance
  double look_variance_ = 0.0;  // of the logarithm of a ratio that one more look measures
  std::optional<RelativeTimes> times_;
};

std::size_t Look::place_of(const Configuration& wanted) const {
  for (std::size_t i = 0; i < now_.candidates.size(); ++i)
    if (is_same(now_.candidates[i].configuration, wanted)) return i;
  SCAVENGER_CHECK(false);
  return 0;
}

// How much the machine's pace changes while nothing else does: of stays at one configuration, one
// after the other but for a visit.
double Look::drift_variance() const {
  constexpr double kPriorPairs = 2.0;
  double squares = kPriorPairs * kUsualDrift * kUsualDrift, count = kPriorPairs;
  for (std::size_t i = 2; i < now_.stays.size(); ++i) {
    const auto before = pace_at_end(now_.stays[i - 2]), after = now_.stays[i].whole;
    if (!before || !after || !is_same(now_.stays[i - 2].configuration, now_.stays[i].configuration))
      continue;
    const double change = std::log(after->seconds / before->seconds);
    squares += std::max(0.0, change * change - variance_of(*before) - variance_of(*after));
    ++count;
  }
  return squares / count;
}

// Each stay beside the one before: what the neighbours on the machine do then slows down both.
std::vector<PairedTime> Look::pairs() const {
  std::vector<PairedTime> pairs;
  for (std::size_t i = 1; i < now_.stays.size(); ++i) {
    const auto before = pace_at_end(now_.stays[i - 1]);
    const auto after = rough_pace(now_.stays[i]);
    if (!before || !after || is_same(now_.stays[i - 1].configuration, now_.stays[i].configuration))
      continue;
    pairs.push_back({now_.stays[i].configuration, now_.stays[i - 1].configuration,
                     std::log(after->seconds / before->seconds),
                     variance_of(*before) + variance_of(*after) + drift_});
  }
  return pairs;
}

// Iterations that are left there beside those at the base.
double Look::iterations_factor(std::size_t i) const {
  const double batch = now_.candidates[i].configuration.global_batch;
  const double base = base_.configuration.global_batch;
  const double epochs =
      now_.known_epochs_ratio
          ? now_.known_epochs_ratio(batch, base)
          : expected_epochs_ratio(batch, base, now_.noise, kUsualNoiseBatches * smallest_batch_);
  return epochs * base / batch;
}

double Look::price_factor(std::size_t i) const {
  return now_.candidates[i].dollars_per_second / now_.candidates[base_place_].dollars_per_second;
}

double Look::objective_factor(std::size_t i) const {
  const double iterations = iterations_factor(i);
  switch (now_.policy) {
    case Policy::kMinimumTime:
      return iterations;
    case Policy::kMinimumCost:
      return iterations * price_factor(i);
    case Policy::kKnee:
      break;
  }
  return iterations * iterations * price_factor(i);
}

RelativeObjective Look::objective(std::size_t i) const {
  if (i == base_place_) return {};
  constexpr double kNormal95 = 1.96;
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double centre = ratio.mean(), reach = kNormal95 * ratio.deviation();
  const double iterations = iterations_factor(i), factor = objective_factor(i);
  const double seconds = iterations * ratio.expected(1.0);
  const double batch = now_.candidates[i].configuration.global_batch;
  return {.expected = factor * ratio.expected(power()),
          .low = factor * std::exp(power() * (centre - reach)),
          .high = factor * std::exp(power() * (centre + reach)),
          .pace = std::exp(centre),
          .pace_low = std::exp(centre - reach),
          .pace_high = std::exp(centre + reach),
          .epochs = iterations * batch / base_.configuration.global_batch,
          .seconds = seconds,
          .dollars = seconds * price_factor(i)};
}

std::vector<RelativeObjective> Look::objectives() const {
  std::vector<RelativeObjective> all;
  for (std::size_t i = 0; i < now_.candidates.size(); ++i) all.push_back(objective(i));
  return all;
}

// Whether the policy's share of the budget bears it.
bool Look::fits(const Expense& expense) const {
  const Expense most = allowed();
  const bool time_fits = expense.seconds <= most.seconds;
  const bool cost_fits = expense.dollars <= most.dollars;
  switch (now_.policy) {
    case Policy::kMinimumTime:
      return time_fits;
    case Policy::kMinimumCost:
      return cost_fits;
    case Policy::kKnee:
      break;
  }
  return time_fits && cost_fits;
}

// There and back, and of the machines that are to be started for it.
Expense Look::cost_of_moves(std::size_t i) const {
  const double there = now_.candidates[i].dollars_per_second;
  const double more = std::max(0.0, there - base_.dollars_per_second);
  return {2.0 * now_.change_seconds,
          now_.change_seconds * (there + base_.dollars_per_second) + now_.start_seconds * more};
}

Expense Look::cost_of_look(std::size_t i, double iterations, double ratio) const {
  const double base_pace = pace_at_end(base_)->seconds;
  const double pace = base_pace * ratio;
  const double seconds = std::max(now_.report_seconds, iterations * pace);
  const Expense lost = excess({.at = now_.candidates[i].configuration,
                               .dollars_per_second = now_.candidates[i].dollars_per_second,
                               .base = base_.configuration,
                               .base_pace = base_pace,
                               .base_dollars_per_second = base_.dollars_per_second},
                              seconds, std::max(iterations, seconds / pace));
  const Expense moves = cost_of_moves(i);
  return {lost.seconds + moves.seconds, lost.dollars + moves.dollars};
}

Look::Offer Look::offer(std::size_t i) const {
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double expected = ratio.expected(1.0);
  const double iterations = kDiscarded + kExpectedIterations;
  const Expense cost = cost_of_look(i, iterations, expected);
  const double left = now_.left_seconds.value_or(now_.elapsed_seconds);
  const double of_time = cost.seconds / left;
  const double of_cost = cost.dollars / (left * base_.dollars_per_second);
  Offer offer;
  offer.gain = ratio.expected_gain(objective_factor(i), power(), look_variance_);
  offer.cost = now_.policy == Policy::kMinimumTime   ? of_time
               : now_.policy == Policy::kMinimumCost ? of_cost
                                                     : of_time + of_cost;
  offer.seconds = iterations * expected * pace_at_end(base_)->seconds + 2.0 * now_.change_seconds;
  return offer;
}

bool Look::may_look(std::size_t i) const {
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double pessimist = std::exp(ratio.mean() + kPessimist * ratio.deviation());
  const Expense cost = cost_of_look(i, kDiscarded + static_cast<double>(kFewest), pessimist);
  const Expense before = charged(now_.stays);
  return fits({before.seconds + cost.seconds, before.dollars + cost.dollars});
}

bool Look::is_seen_enough(const Stay& visit, std::size_t i, const Expense& spent) const {
  // The way back is still to come.
  const Expense with_return{spent.seconds + now_.change_seconds,
                            spent.dollars + now_.change_seconds * base_.dollars_per_second};
  if (!fits(with_return)) return true;
  if (!visit.whole || visit.whole->iterations < kFewest) return false;
  if (visit.whole->iterations >= now_.iterations) return true;
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double centre = std::log(objective_factor(i)) + power() * ratio.mean();
  return std::abs(centre) > kClear * power() * ratio.deviation();
}

SearchAdvice Look::end_look(SearchAdvice advice) const {
  const Stay& visit = now_.stays.back();
  const std::size_t i = place_of(visit.configuration);
  advice.candidate = i;
  if (!is_seen_enough(visit, i, advice.charged)) return advice;
  advice.objective = objective(i);
  const bool is_better = advice.objective.expected < 1.0;
  advice.move = is_better ? SearchMove::kAdopt : SearchMove::kReturn;
  if (!is_better) advice.candidate = base_place_;
  return advice;
}

SearchAdvice Look::begin_look(SearchAdvice advice) const {
  advice.candidate = base_place_;
  const auto pace = pace_at_end(base_);
  if (!pace || pace->iterations < kFewest) return advice;
  const auto is_look = [](const Stay& stay) { return stay.kind != StayKind::kBase; };
  if (std::ranges::count_if(now_.stays, is_look) >= kMostLooks) return advice;
  double most = 0.0;
  for (std::size_t i = 0; i < now_.candidates.size(); ++i) {
    if (i == base_place_) continue;
    const Offer one = offer(i);
    const double per_second = (one.gain - one.cost) / one.seconds;
    if (!(per_second > most) || !may_look(i)) continue;
    most = per_second;
    advice.move = SearchMove::kLook;
    advice.candidate = i;
    advice.expected_gain = one.gain;
    advice.expected_cost = one.cost;
  }
  return advice;
}

SearchAdvice Look::advise() const {
  SearchAdvice advice;
  advice.charged = charged(now_.stays);
  advice.allowed = allowed();
  return now_.stays.back().kind == StayKind::kVisit ? end_look(advice) : begin_look(advice);
}

}  // namespace

SearchAdvice advise(const SearchSituation& situation) {
  return Look(situation).advise();
}

std::vector<RelativeObjective> relative_objectives(const SearchSituation& situation) {
  return Look(situation).objectives();
}

}  // namespace scavenger::perfmodel
