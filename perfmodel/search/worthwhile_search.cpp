#include "perfmodel/search/worthwhile_search.h"

#include <algorithm>
#include <cmath>

#include "perfmodel/search/look_budget.h"
#include "perfmodel/search/paired_stays.h"
#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

// The first iterations after a change are not measured.
constexpr double kDiscarded = 3.0;
constexpr std::uint64_t kFewestOfSurprise = 10;
constexpr double kExpectedIterations = 8.0;
constexpr double kClear = 3.0;      // standard deviations at which more iterations change nothing
constexpr double kPessimist = 1.3;  // standard deviations: one look in ten takes longer
// Each look adds two memberships to the run, whose numbers are kept one by one.
constexpr std::ptrdiff_t kMostLooks = 40;
constexpr double kLeastGain = 0.005;        // of what is left: less is not worth a look's place
constexpr double kUsualNoiseBatches = 4.0;  // B_s, in smallest batches, before it was measured

bool is_same(const Configuration& a, const Configuration& b) {
  return a.workers == b.workers && a.global_batch == b.global_batch;
}

std::size_t place_of(std::span<const PricedConfiguration> candidates, const Configuration& wanted) {
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (is_same(candidates[i].configuration, wanted)) return i;
  SCAVENGER_CHECK(false);
  return 0;
}

// The looks that there may be are spread over a job of unknown length: after the first, there is
// one in each stretch of so much of its life.
bool is_time_for_another(std::span<const Stay> stays, double elapsed_seconds) {
  constexpr std::ptrdiff_t kAtOnce = 10, kSoon = 20;
  constexpr double kShortRest = 0.03, kLongRest = 0.15;
  const auto is_look = [](const Stay& stay) { return stay.kind != StayKind::kBase; };
  const auto looks = std::ranges::count_if(stays, is_look);
  if (looks >= kMostLooks) return false;
  const double rest = looks < kAtOnce ? 0.0 : looks < kSoon ? kShortRest : kLongRest;
  return stays.back().seconds >= rest * elapsed_seconds;
}

// A look at a candidate.
struct Offer {
  std::size_t candidate = 0;
  double gain = 0.0;  // shares of what is left
  double cost = 0.0;
  double seconds = 0.0;
  bool is_affordable = false;       // the budget bears it
  bool is_affordable_soon = false;  // once the job has run for four times as long

  double net() const { return gain - cost; }
};

// A look that gains much may cost more than the budget has yet, since machines have to start. What
// is spent on others until then, which gain little, puts it off.
double gain_to_save_for(std::span<const Offer> offers) {
  constexpr double kWorthIt = 0.5;  // of the gain that is waited for
  double most = 0.0;
  for (const Offer& one : offers)
    if (!one.is_affordable && one.is_affordable_soon) most = std::max(most, kWorthIt * one.net());
  return most;
}

// Of a look so far.
struct Seen {
  double samples = 0.0;
  double seconds = 0.0;
};

class Look final {
 public:
  explicit Look(const SearchSituation& situation)
      : now_(situation), base_(situation.stays[base_of(situation.stays)]) {
    SCAVENGER_CHECK(!situation.stays.empty() && !situation.candidates.empty());
    smallest_batch_ = situation.candidates.front().configuration.global_batch;
    for (const PricedConfiguration& one : situation.candidates) {
      configurations_.push_back(one.configuration);
      smallest_batch_ = std::min(smallest_batch_, one.configuration.global_batch);
    }
    base_place_ = place_of(now_.candidates, base_.configuration);
    look_variance_ = drift_variance(now_.stays) +
                     kUsualIterationScatter * kUsualIterationScatter / kExpectedIterations;
    if (const auto pace = pace_at_end(base_)) look_variance_ += variance_of(*pace);
    times_.emplace(configurations_, paired_times(now_.stays));
    const bool is_noise_known = now_.noise && now_.noise->scale > 0.0;
    progress_.emplace(now_.losses, is_noise_known ? now_.noise->scale : known_noise().usual);
  }

  SearchAdvice advise() const;
  std::vector<RelativeObjective> objectives() const;

 private:
  // Of a look: it goes on, or it ends, having seen what it was to see, or not.
  enum class Progress { kGoesOn, kSeenEnough, kBrokenOff };

  bool is_surprise(const Stay& visit, std::size_t i) const;
  KnownNoise known_noise() const {
    return {now_.noise, now_.noise_growth, now_.noise_of_earlier_jobs,
            kUsualNoiseBatches * smallest_batch_};
  }
  double batch_of(std::size_t i) const { return now_.candidates[i].configuration.global_batch; }
  double iterations_factor(std::size_t i, double power) const;
  double price_factor(std::size_t i) const;
  double objective_factor(std::size_t i) const;
  RelativeObjective objective(std::size_t i) const;
  Expense cost_of_moves(std::size_t i) const;
  Expense cost_of_look(std::size_t i, double iterations, double ratio) const;
  Offer offer(std::size_t i) const;
  double affordable_seconds(std::size_t i) const;
  std::optional<Offer> offer_of_progress(std::size_t i, const Seen& before) const;
  Expense charged_if_slow(std::size_t i) const;
  std::vector<Offer> worthwhile_offers() const;
  Expense one_report_more(const Stay& visit, std::size_t i, double pace) const;
  bool may_go_on(const Stay& visit, std::size_t i, const Expense& spent) const;
  bool is_worth_going_on(const Stay& visit, std::size_t i) const;
  bool is_worth_for_progress(const Stay& visit, std::size_t i) const;
  Progress progress_of(const Stay& visit, std::size_t i, const Expense& spent) const;
  bool is_better(const Stay& visit, std::size_t i, const RelativeObjective& objective) const;
  SearchAdvice end_look(SearchAdvice advice) const;
  SearchAdvice begin_look(SearchAdvice advice) const;

  const SearchSituation& now_;
  const Stay& base_;
  const double power_ = now_.policy == Policy::kKnee ? 2.0 : 1.0;  // of seconds in the objective
  std::vector<Configuration> configurations_;                      // of the candidates
  std::size_t base_place_ = 0;
  double smallest_batch_ = 0.0;
  double look_variance_ = 0.0;  // of the logarithm of a ratio that one more look measures
  std::optional<RelativeTimes> times_;
  std::optional<MeasuredProgress> progress_;
};

// What was not to be expected may be a few iterations that took long once.
bool Look::is_surprise(const Stay& visit, std::size_t i) const {
  constexpr double kSurprise = 2.0;  // standard deviations
  const auto before = pace_at_end(base_);
  std::vector<PairedTime> earlier = paired_times(now_.stays);
  if (!before || earlier.empty()) return false;
  const double variance = earlier.back().variance;
  earlier.pop_back();
  const LogRatio expected = RelativeTimes(configurations_, earlier).ratio(i, base_place_);
  const double departure = std::log(visit.whole->seconds / before->seconds) - expected.mean();
  return std::abs(departure) > kSurprise * std::hypot(expected.deviation(), std::sqrt(variance));
}

// Of iterations that are left there beside those at the base: E[ratio^power].
double Look::iterations_factor(std::size_t i, double power) const {
  const BatchPair batches{batch_of(i), base_.configuration.global_batch};
  const double epochs =
      now_.known_epochs_ratio
          ? std::pow(now_.known_epochs_ratio(batches.global_batch, batches.beside), power)
          : expected_epochs_ratio(batches, known_noise(), *progress_, power);
  return epochs * std::pow(batches.beside / batches.global_batch, power);
}

double Look::price_factor(std::size_t i) const {
  return now_.candidates[i].dollars_per_second / now_.candidates[base_place_].dollars_per_second;
}

double Look::objective_factor(std::size_t i) const {
  const double iterations = iterations_factor(i, power_);
  return now_.policy == Policy::kMinimumTime ? iterations : iterations * price_factor(i);
}

RelativeObjective Look::objective(std::size_t i) const {
  if (i == base_place_) return {};
  constexpr double kNormal95 = 1.96;
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double centre = ratio.mean(), reach = kNormal95 * ratio.deviation();
  const double iterations = iterations_factor(i, 1.0), factor = objective_factor(i);
  const double seconds = iterations * ratio.expected(1.0);
  return {.expected = factor * ratio.expected(power_),
          .low = factor * std::exp(power_ * (centre - reach)),
          .high = factor * std::exp(power_ * (centre + reach)),
          .pace = std::exp(centre),
          .pace_low = std::exp(centre - reach),
          .pace_high = std::exp(centre + reach),
          .epochs = iterations * batch_of(i) / base_.configuration.global_batch,
          .seconds = seconds,
          .dollars = seconds * price_factor(i)};
}

std::vector<RelativeObjective> Look::objectives() const {
  std::vector<RelativeObjective> all;
  for (std::size_t i = 0; i < now_.candidates.size(); ++i) all.push_back(objective(i));
  return all;
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

Offer Look::offer(std::size_t i) const {
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double expected = ratio.expected(1.0);
  const double iterations = kDiscarded + kExpectedIterations;
  Offer offer;
  offer.candidate = i;
  offer.gain = ratio.expected_gain(objective_factor(i), power_, look_variance_);
  offer.cost = share_of_left(now_, base_, cost_of_look(i, iterations, expected));
  offer.seconds = iterations * expected * pace_at_end(base_)->seconds + 2.0 * now_.change_seconds;
  return offer;
}

// How long the budget bears a look there, moves deducted.
double Look::affordable_seconds(std::size_t i) const {
  constexpr double kLongestLook = 0.2;  // of the job so far: a later one knows more
  const Expense before = charged(now_.stays), most = allowed(now_), moves = cost_of_moves(i);
  const double pace = pace_at_end(base_)->seconds * times_->ratio(i, base_place_).expected(1.0);
  const Expense each = excess({.at = now_.candidates[i].configuration,
                               .dollars_per_second = now_.candidates[i].dollars_per_second,
                               .base = base_.configuration,
                               .base_pace = pace_at_end(base_)->seconds,
                               .base_dollars_per_second = base_.dollars_per_second},
                              1.0, 1.0 / pace);
  double seconds = kLongestLook * now_.elapsed_seconds;
  if (now_.policy != Policy::kMinimumCost && each.seconds > 0.0)
    seconds = std::min(seconds, (most.seconds - before.seconds - moves.seconds) / each.seconds);
  if (now_.policy != Policy::kMinimumTime && each.dollars > 0.0)
    seconds = std::min(seconds, (most.dollars - before.dollars - moves.dollars) / each.dollars);
  return std::max(0.0, seconds);
}

// A look that is long enough to tell what a sample is worth at that batch: the best of some
// lengths; nothing where the loss tells nothing. What it costs is what is expected to be lost from
// now on.
std::optional<Offer> Look::offer_of_progress(std::size_t i, const Seen& before) const {
  const double x = std::log(batch_of(i) / base_.configuration.global_batch);
  if (x == 0.0 || now_.known_epochs_ratio) return std::nullopt;
  constexpr double kCaution = 1.0;        // the error that a look will leave is not known well
  constexpr double kShortestLook = 0.02;  // of the job so far: less tells next to nothing
  constexpr int kLengths = 5;             // each half as long as the one before
  const double longest = affordable_seconds(i);
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double pace = pace_at_end(base_)->seconds * ratio.expected(1.0);
  const double factor = objective_factor(i);
  const double slower = std::max(0.0, 1.0 - 1.0 / (factor * ratio.expected(power_)));
  const double unknown = std::pow(x * progress_->deviation(), 2.0);
  std::optional<Offer> best;
  for (int halvings = 0; halvings < kLengths; ++halvings) {
    const double seconds = std::ldexp(longest, -halvings);
    if (before.seconds + seconds <= kShortestLook * now_.elapsed_seconds) break;
    const double samples = before.samples + seconds / pace * batch_of(i);
    const auto error = progress_->error_after(samples, batch_of(i));
    if (!error) return std::nullopt;
    Offer one;
    one.candidate = i;
    one.gain = ratio.expected_gain(factor, power_, look_variance_,
                                   unknown * unknown / (unknown + *error * *error));
    one.cost = kCaution *
               (slower * seconds + (before.samples > 0.0 ? 1.0 : 2.0) * now_.change_seconds) /
               left_seconds(now_);
    one.seconds = seconds + 2.0 * now_.change_seconds;
    if (!best || one.net() > best->net()) best = one;
  }
  return best;
}

// All that will be charged after the first iterations there, if it is slow. If the budget does not
// bear more of them, the look is broken off, and they tell at least how slow it is. After that it
// has to bear all that a measurement takes at that pace: else the next look would be broken off
// again, and tell as little.
Expense Look::charged_if_slow(std::size_t i) const {
  constexpr double kFirstIterations = 4.0;
  const LogRatio ratio = times_->ratio(i, base_place_);
  double iterations = kFirstIterations;
  double pessimist = std::exp(ratio.mean() + kPessimist * ratio.deviation());
  if (const auto seen = pace_before_break_off(now_.stays, configurations_[i])) {
    iterations = kDiscarded + static_cast<double>(kFewestMeasured);
    pessimist = std::max(pessimist, *seen / pace_at_end(base_)->seconds);
  }
  const Expense cost = cost_of_look(i, iterations, pessimist);
  const Expense before = charged(now_.stays);
  return {before.seconds + cost.seconds, before.dollars + cost.dollars};
}

// If an iteration takes so many seconds.
Expense Look::one_report_more(const Stay& visit, std::size_t i, double pace) const {
  if (visit.iterations == 0) return {};
  const double seconds = std::max(now_.report_seconds, pace);
  return excess({.at = visit.configuration,
                 .dollars_per_second = now_.candidates[i].dollars_per_second,
                 .base = base_.configuration,
                 .base_pace = pace_at_end(base_)->seconds,
                 .base_dollars_per_second = base_.dollars_per_second},
                seconds, seconds / pace);
}

// The next report, and the way back, are still to come. The next iterations may be as slow as those
// before.
bool Look::may_go_on(const Stay& visit, std::size_t i, const Expense& spent) const {
  const Expense more = one_report_more(visit, i, mean_pace(visit));
  return fits(now_,
              {spent.seconds + more.seconds + now_.change_seconds,
               spent.dollars + more.dollars + now_.change_seconds * base_.dollars_per_second});
}

// Where it is much slower than was to be expected, the rest of a look may cost more than it can
// still gain. The way back is to be paid anyway. But what costs less than the moves of another look
// is seen now.
bool Look::is_worth_going_on(const Stay& visit, std::size_t i) const {
  if (visit.iterations == 0 || is_worth_for_progress(visit, i)) return true;
  const double missing =
      std::max(1.0, kDiscarded + kExpectedIterations - static_cast<double>(visit.iterations));
  const double pace = early_pace(visit);
  const double reports = missing * pace / std::max(now_.report_seconds, pace);
  const Expense each = one_report_more(visit, i, pace);
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double rest = share_of_left(now_, base_, {reports * each.seconds, reports * each.dollars});
  return rest < share_of_left(now_, base_, cost_of_moves(i)) ||
         rest < ratio.expected_gain(objective_factor(i), power_, look_variance_);
}

bool Look::is_worth_for_progress(const Stay& visit, std::size_t i) const {
  const auto longer =
      offer_of_progress(i, {static_cast<double>(visit.iterations) * batch_of(i), visit.seconds});
  return longer && longer->gain > longer->cost;
}

Look::Progress Look::progress_of(const Stay& visit, std::size_t i, const Expense& spent) const {
  const bool is_known = is_measured(visit);
  if (!may_go_on(visit, i, spent)) return is_known ? Progress::kSeenEnough : Progress::kBrokenOff;
  if (!is_known) return is_worth_going_on(visit, i) ? Progress::kGoesOn : Progress::kBrokenOff;
  if (visit.whole->iterations >= now_.iterations) return Progress::kSeenEnough;
  if (visit.whole->iterations < kFewestOfSurprise && is_surprise(visit, i))
    return Progress::kGoesOn;
  const LogRatio ratio = times_->ratio(i, base_place_);
  const double centre = std::log(objective_factor(i)) + power_ * ratio.mean();
  const bool is_clear = std::abs(centre) > kClear * power_ * ratio.deviation();
  return is_clear ? Progress::kSeenEnough : Progress::kGoesOn;
}

// A job stays at what was measured. Before that the model still says what was expected of a
// configuration, however slow its first iterations are, so they themselves have to be quick enough.
bool Look::is_better(const Stay& visit, std::size_t i, const RelativeObjective& objective) const {
  if (objective.expected >= 1.0 || is_measured(visit)) return objective.expected < 1.0;
  const double ratio_seen = mean_pace(visit) / pace_at_end(base_)->seconds;
  return visit.iterations > 0 && objective_factor(i) * std::pow(ratio_seen, power_) < 1.0;
}

SearchAdvice Look::end_look(SearchAdvice advice) const {
  const Stay& visit = now_.stays.back();
  const std::size_t i = place_of(now_.candidates, visit.configuration);
  advice.candidate = i;
  const Progress progress = progress_of(visit, i, advice.charged);
  if (progress == Progress::kGoesOn) return advice;
  advice.objective = objective(i);
  const bool stays = is_better(visit, i, advice.objective);
  advice.is_broken_off = !stays && progress == Progress::kBrokenOff;
  const bool may_see_more = !advice.is_broken_off && may_go_on(visit, i, advice.charged);
  if (!stays && may_see_more && is_worth_for_progress(visit, i)) return advice;
  advice.move = stays ? SearchMove::kAdopt : SearchMove::kReturn;
  if (!stays) advice.candidate = base_place_;
  return advice;
}

// Looks that gain more than they cost, whether the budget bears them now or not.
std::vector<Offer> Look::worthwhile_offers() const {
  constexpr double kSoon = 4.0;  // times the age of the job
  std::vector<Offer> offers;
  for (std::size_t i = 0; i < now_.candidates.size(); ++i) {
    if (i == base_place_) continue;
    Offer one = offer(i);
    if (const auto longer = offer_of_progress(i, {}); longer && !(one.net() > 0.0)) one = *longer;
    if (one.gain < kLeastGain || !(one.net() > 0.0)) continue;
    const Expense expense = charged_if_slow(i);
    one.is_affordable = fits(now_, expense);
    one.is_affordable_soon = fits(now_, expense, kSoon);
    offers.push_back(one);
  }
  return offers;
}

SearchAdvice Look::begin_look(SearchAdvice advice) const {
  advice.candidate = base_place_;
  const auto pace = pace_at_end(base_);
  if (!pace || pace->iterations < kFewestMeasured) return advice;
  if (!is_time_for_another(now_.stays, now_.elapsed_seconds)) return advice;
  const std::vector<Offer> offers = worthwhile_offers();
  const double saved_for = gain_to_save_for(offers);
  double most = 0.0;
  for (const Offer& one : offers) {
    const double per_second = one.net() / one.seconds;
    if (!one.is_affordable || one.net() < saved_for || !(per_second > most)) continue;
    most = per_second;
    advice.move = SearchMove::kLook;
    advice.candidate = one.candidate;
    advice.expected_gain = one.gain;
    advice.expected_cost = one.cost;
  }
  return advice;
}

SearchAdvice Look::advise() const {
  SearchAdvice advice;
  advice.charged = charged(now_.stays);
  advice.allowed = allowed(now_);
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
