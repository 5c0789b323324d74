#include "elastic/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "elastic/history/time_to_go.h"
#include "elastic/plan/measured_configurations.h"
#include "elastic/plan/run_record.h"
#include "elastic/search/auto_search.h"
#include "elastic/search/search_grid.h"
#include "elastic/search/search_plan.h"
#include "perfmodel/search/adaptive_search.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

using fact::SearchPhase;
using perfmodel::Configuration;

// A configuration is measured when its mean is known this well after the wanted iterations; after n
// times as many, n times the error suffices. Where iterations scatter, as those of many workers do,
// an exact mean would cost more than it is worth. And not from a moment in which the machine may
// have done something else.
constexpr double kWantedRelativeError = 0.02;
constexpr double kMostRounds = 10.0;
constexpr double kShortestSeconds = 0.3;
// An adaptive search ends here, or earlier where all that may be the best are known this well.
constexpr std::size_t kAdaptivePoints = 9;
constexpr double kGoodError = 0.03;
constexpr double kMattersFrom = 0.1;  // of decision_importance
// What is watched after the choice.
constexpr double kDrift = 0.25;  // of seconds per iteration, outside of the predicted interval
constexpr double kNoiseFactor = 2.0;
constexpr double kShortestRest = 30.0;         // seconds between two looks
constexpr double kRestShare = 0.3;             // of the job's life: looks get rarer
constexpr double kLongestWait = 300.0;         // for workers that were asked for
constexpr double kDefaultResizeSeconds = 1.0;  // before any was measured

bool is_at(const Configuration& configuration, std::uint32_t workers, std::uint32_t batch_size) {
  return configuration ==
         Configuration{static_cast<double>(workers), static_cast<double>(batch_size)};
}

std::string text_of(const Configuration& configuration) {
  return fmt::format("K = {}, B = {}", configuration.workers, configuration.global_batch);
}

// One look at the numbers.
class SearchLook final {
 public:
  SearchLook(const SearchSetting& setting, const RunNumbers& numbers)
      : setting_(setting),
        numbers_(numbers),
        membership_(numbers.phases.back().membership),
        here_{static_cast<double>(membership_.workers),
              static_cast<double>(membership_.batch_size)},
        candidates_(candidates_in_memory(setting.candidates, setting.config.search,
                                         numbers.room_samples())) {}

  std::vector<RunEvent> begin();
  std::vector<RunEvent> wait_for_noise(const fact::SearchStep& step);
  std::vector<RunEvent> measure();
  std::vector<RunEvent> measure_again();
  std::vector<RunEvent> watch();

 private:
  RunEvent step(SearchPhase phase, const Configuration& wanted, std::string reason) const;
  std::vector<RunEvent> measure_or_choose();
  std::vector<RunEvent> choose(const perfmodel::Plan& plan, const std::string& source);
  std::vector<RunEvent> plan_anew(const std::string& why);
  std::optional<std::size_t> next_to_measure() const;
  std::optional<std::size_t> most_telling() const;
  std::optional<std::size_t> first_unmeasured(std::span<const std::size_t> order) const;
  std::vector<std::size_t> planned_order() const;
  bool is_known_well(const perfmodel::Plan& plan, std::span<const double> importance) const;
  bool is_measured(const Configuration& configuration) const;
  bool suffices(const MeasuredConfiguration& measured) const;
  const std::vector<MeasuredConfiguration>& measured() const;
  perfmodel::PlanRequest request() const;
  const perfmodel::Plan& plan() const;
  bool is_worth_it(const fact::Prediction& prediction,
                   const fact::PredictedConfiguration& chosen) const;
  double resize_seconds() const;
  double since_seconds() const;
  double rest_since() const;
  bool noise_has_changed() const;

  const SearchSetting& setting_;
  const RunNumbers& numbers_;
  const fact::Membership& membership_;
  const Configuration here_;
  const std::vector<Configuration> candidates_;
  // Made when they are first asked for: most looks see that there is nothing to do yet.
  mutable std::optional<std::vector<MeasuredConfiguration>> measured_;
  mutable std::optional<perfmodel::Plan> plan_;
};

RunEvent SearchLook::step(SearchPhase phase, const Configuration& wanted,
                          std::string reason) const {
  return fact::SearchStep{numbers_.iterations, phase, static_cast<std::uint32_t>(wanted.workers),
                          static_cast<std::uint32_t>(wanted.global_batch), std::move(reason)};
}

// ---- What has been measured. ----

// Nothing from before the machine was found to have changed.
double SearchLook::since_seconds() const {
  double since = 0.0;
  for (const auto& timed : numbers_.search_steps.latest)
    if (timed.fact.phase == SearchPhase::kAgain) since = timed.time;
  return since;
}

const std::vector<MeasuredConfiguration>& SearchLook::measured() const {
  if (measured_) return *measured_;
  measured_.emplace();
  for (const MeasuredConfiguration& one : measured_since(numbers_, since_seconds()))
    if (suffices(one)) measured_->push_back(one);
  return *measured_;
}

bool SearchLook::suffices(const MeasuredConfiguration& one) const {
  const auto wanted = static_cast<double>(setting_.config.search.iterations);
  const auto iterations = static_cast<double>(one.iterations);
  if (iterations < wanted || one.total_seconds < kShortestSeconds) return false;
  const double rounds = iterations / wanted;
  return rounds >= kMostRounds || one.relative_error() <= kWantedRelativeError * rounds;
}

bool SearchLook::is_measured(const Configuration& configuration) const {
  return std::ranges::any_of(measured(), [&](const MeasuredConfiguration& one) {
    return one.seconds.configuration == configuration;
  });
}

// ---- What to measure next. ----

// Fewest workers first; their batch sizes up and down in turn, so that each step is a small one.
std::vector<std::size_t> SearchLook::planned_order() const {
  const auto& candidates = candidates_;
  if (setting_.config.search.mode != SearchMode::kFull)
    return perfmodel::corner_candidates(candidates);
  std::vector<std::size_t> order;
  bool downwards = false;
  for (std::size_t begin = 0; begin < candidates.size(); begin = order.size()) {
    for (std::size_t i = begin;
         i < candidates.size() && candidates[i].workers == candidates[begin].workers; ++i)
      order.push_back(i);
    if (downwards) std::reverse(order.begin() + static_cast<std::ptrdiff_t>(begin), order.end());
    downwards = !downwards;
  }
  return order;
}

// What the job has now comes last: where it was measured before, only leaving it and coming back
// gives it a new mean.
std::optional<std::size_t> SearchLook::first_unmeasured(std::span<const std::size_t> order) const {
  std::optional<std::size_t> last;
  for (const std::size_t i : order) {
    if (is_measured(candidates_[i])) continue;
    if (candidates_[i] != here_) return i;
    last = i;
  }
  return last;
}

std::optional<std::size_t> SearchLook::next_to_measure() const {
  if (const auto next = first_unmeasured(planned_order())) return next;
  try {
    if (setting_.config.search.mode == SearchMode::kAdaptive) return most_telling();
    plan();
    return std::nullopt;
  } catch (const DataError&) {  // not enough yet: anything helps
    std::vector<std::size_t> all(candidates_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return first_unmeasured(all);
  }
}

// Of every candidate that may be the best, the seconds per iteration.
bool SearchLook::is_known_well(const perfmodel::Plan& plan,
                               std::span<const double> importance) const {
  for (std::size_t i = 0; i < importance.size(); ++i) {
    const perfmodel::Estimate& seconds = plan.rows[i].prediction.iteration_seconds;
    if (importance[i] > kMattersFrom && seconds.standard_error > kGoodError * seconds.value)
      return false;
  }
  return true;
}

std::optional<std::size_t> SearchLook::most_telling() const {
  if (measured().size() >= kAdaptivePoints) return std::nullopt;
  const perfmodel::Plan& known = plan();
  std::vector<perfmodel::TimeObservation> times;
  for (const MeasuredConfiguration& one : measured()) times.push_back(one.seconds);
  if (setting_.machines.is_mixed()) times = perfmodel::with_slowdowns(times, setting_.machines);
  std::vector<bool> is_known;
  for (const Configuration& candidate : candidates_) is_known.push_back(is_measured(candidate));
  std::vector<perfmodel::JobPrediction> predictions;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    predictions.push_back(known.rows[i].prediction);
  const auto importance = perfmodel::policy_importance(known.policy, predictions);
  if (is_known_well(known, importance)) return std::nullopt;
  return perfmodel::next_candidate(perfmodel::TimeModel(times), candidates_, is_known, importance);
}

// ---- What to choose. ----

perfmodel::PlanRequest SearchLook::request() const {
  std::vector<Configuration> candidates = candidates_;
  if (std::ranges::find(candidates, here_) == candidates.end()) candidates.push_back(here_);
  return make_search_request(setting_.config, setting_.machines, numbers_, candidates);
}

const perfmodel::Plan& SearchLook::plan() const {
  if (!plan_) plan_ = plan_from_measurements(request(), measured(), numbers_, setting_.stored);
  return *plan_;
}

double SearchLook::resize_seconds() const {
  double sum = 0.0, count = 0.0;
  for (const auto& timed : numbers_.recoveries.list.latest) {
    if (!timed.fact.lost.empty()) continue;
    sum += timed.fact.seconds;
    ++count;
  }
  return count > 0.0 ? sum / count : kDefaultResizeSeconds;
}

const fact::PredictedConfiguration* find_candidate(const fact::Prediction& prediction,
                                                   const Configuration& wanted) {
  for (const fact::PredictedConfiguration& one : prediction.candidates)
    if (is_at(wanted, one.workers, one.batch_size)) return &one;
  return nullptr;
}

bool SearchLook::is_worth_it(const fact::Prediction& prediction,
                             const fact::PredictedConfiguration& chosen) const {
  const fact::PredictedConfiguration* const now = find_candidate(prediction, here_);
  if (now == nullptr) return true;
  const perfmodel::PlanRequest asked = request();
  const perfmodel::Candidate staying{here_, now->seconds, now->cost};
  // Beyond the limits, gain is not the question.
  if (!prediction.relative &&
      !perfmodel::choose({&staying, 1}, asked.policy, asked.constraints).choice)
    return true;
  const double left = seconds_to_target(numbers_, prediction, *now);
  // Cost grows with time alone, whatever each machine costs.
  const double now_per_second = now->cost / now->seconds;
  const double chosen_per_second = chosen.cost / chosen.seconds;
  perfmodel::Move move;
  move.stay_seconds = left;
  move.stay_cost = left * now_per_second;
  move.move_seconds = left * chosen.seconds / now->seconds;
  move.move_cost = move.move_seconds * chosen_per_second;
  move.resize_seconds = resize_seconds();
  move.resize_cost = move.resize_seconds * chosen_per_second;
  return perfmodel::worth_moving(move, asked.policy, setting_.config.search.margin);
}

std::vector<RunEvent> SearchLook::choose(const perfmodel::Plan& plan, const std::string& source) {
  const fact::Prediction prediction = make_prediction(plan, numbers_);
  const Configuration chosen{static_cast<double>(prediction.workers),
                             static_cast<double>(prediction.batch_size)};
  const std::string reason = fmt::format("{}; {}", prediction.reason, source);
  std::vector<RunEvent> events{prediction};
  if (chosen == here_)
    events.push_back(step(SearchPhase::kSettled, here_, "stays: " + reason));
  else if (is_worth_it(prediction, *find_candidate(prediction, chosen)))
    events.push_back(step(SearchPhase::kSettled, chosen, reason));
  else
    events.push_back(step(SearchPhase::kSettled, here_,
                          fmt::format("stays: {} would be better, but by less than {:g} % of what "
                                      "is left, with the cost of moving",
                                      text_of(chosen), 100.0 * setting_.config.search.margin)));
  return events;
}

// ---- The phases. ----

std::vector<RunEvent> SearchLook::begin() {
  const SearchMode mode = setting_.config.search.mode;
  if (mode != SearchMode::kNone && mode != SearchMode::kUniversal)
    return {step(SearchPhase::kColdStart, here_, "waits until the gradient noise has settled")};
  std::optional<StoredPlan> known;
  std::string lack;
  try {
    known = mode == SearchMode::kNone
                ? plan_from_most_similar(request(), signature_of(setting_.config, numbers_),
                                         setting_.stored)
                : plan_from_all(request(), setting_.stored);
  } catch (const DataError& error) {
    lack = error.problem().what;
  }
  if (known) return choose(known->plan, "from " + known->source);
  return {step(SearchPhase::kColdStart, here_,
               fmt::format("the store says too little ({}): measuring the corners instead, once "
                           "the gradient noise has settled",
                           lack))};
}

std::vector<RunEvent> SearchLook::wait_for_noise(const fact::SearchStep& begun) {
  const auto noise = numbers_.noise.numbers();
  const bool is_stable = noise && noise->estimate.stable;
  const std::uint64_t waited = numbers_.iterations - std::min(numbers_.iterations, begun.iteration);
  if (!is_stable && waited < setting_.config.search.cold_start_iterations) return {};
  const auto now = measured_now(numbers_);
  if (!now || !suffices(*now)) return {};
  return measure_or_choose();
}

std::vector<RunEvent> SearchLook::measure() {
  if (!is_measured(here_)) return {};
  return measure_or_choose();
}

std::vector<RunEvent> SearchLook::measure_again() {
  return measure_or_choose();
}

std::vector<RunEvent> SearchLook::measure_or_choose() {
  const std::size_t known = measured().size();
  if (const auto next = next_to_measure())
    return {step(
        SearchPhase::kProfiling, candidates_[*next],
        fmt::format("measures this configuration; {} of {} are known", known, candidates_.size()))};
  try {
    return choose(plan(),
                  fmt::format("{} of {} configurations were measured", known, candidates_.size()));
  } catch (const DataError& error) {  // everything was measured: more of the same does not help
    return {step(SearchPhase::kEnded, here_, std::string("stays: ") + error.what())};
  }
}

// ---- After the choice. ----

double SearchLook::rest_since() const {
  const double last = std::max(numbers_.search_steps.latest.back().time,
                               numbers_.prediction ? numbers_.prediction->time : 0.0);
  return numbers_.seconds - last;
}

// By more than chance. Whether the noise has settled is not asked: with one worker it is measured
// so rarely that this takes hours.
bool SearchLook::noise_has_changed() const {
  const auto noise = numbers_.noise.numbers();
  if (!noise || !std::isfinite(noise->estimate.noise_scale.interval.high)) return false;
  if (noise->phase != numbers_.prediction->fact.noise_phase) return true;
  const noise::Measured& now = noise->estimate.noise_scale;
  const double before = numbers_.prediction->fact.noise_scale;
  if (now.interval.low <= before && before <= now.interval.high) return false;
  const double ratio = now.value / before;
  return std::isfinite(ratio) && ratio > 0.0 && std::abs(std::log(ratio)) > std::log(kNoiseFactor);
}

std::vector<RunEvent> SearchLook::plan_anew(const std::string& why) {
  try {
    std::vector<RunEvent> events = choose(plan(), why);
    const auto& settled = std::get<fact::SearchStep>(events.back());
    if (is_at(here_, settled.workers, settled.batch_size)) events.pop_back();  // no news
    return events;
  } catch (
      const DataError&) {  // the choice came from a store, and this run has measured too little
    return {};
  }
}

std::vector<RunEvent> SearchLook::watch() {
  const double last = numbers_.seconds - rest_since();
  if (!numbers_.prediction || rest_since() < std::max(kShortestRest, kRestShare * last)) return {};
  const auto now = measured_lately(numbers_);
  if (!now) return {};
  for (const fact::PredictedConfiguration& predicted : numbers_.prediction->fact.candidates) {
    if (!is_at(here_, predicted.workers, predicted.batch_size)) continue;
    const double seconds = now->seconds.seconds;
    const bool drifts =
        (seconds < predicted.iteration_seconds_low || seconds > predicted.iteration_seconds_high) &&
        std::abs(seconds / predicted.iteration_seconds - 1.0) > kDrift;
    if (!drifts) continue;
    const std::string news =
        fmt::format("an iteration takes {:.3g} s, and {:.3g} s were {}", seconds,
                    predicted.iteration_seconds, predicted.measured ? "measured" : "predicted");
    if (predicted.measured) return {step(SearchPhase::kAgain, here_, news + ": measures again")};
    return plan_anew(news);
  }
  return noise_has_changed() ? plan_anew("the gradient noise has changed")
                             : std::vector<RunEvent>{};
}

// More workers were wanted, and have not come.
bool is_overdue(const RunNumbers& numbers) {
  const auto& last = numbers.search_steps.latest.back();
  return last.fact.phase != SearchPhase::kEnded &&
         last.fact.workers > numbers.phases.back().membership.workers &&
         numbers.seconds - last.time > kLongestWait;
}

}  // namespace

std::vector<RunEvent> continue_search(const SearchSetting& setting, const RunNumbers& numbers) {
  if (numbers.phases.empty() || numbers.status) return {};
  const bool is_auto = setting.config.search.mode == SearchMode::kAuto;
  if (numbers.search_steps.total == 0)
    return is_auto ? begin_auto_search(setting, numbers) : SearchLook(setting, numbers).begin();
  const fact::SearchStep& last = numbers.search_steps.latest.back().fact;
  const fact::Membership& now = numbers.phases.back().membership;
  // On its way; or somebody is missing for the moment.
  if (last.workers != now.workers || last.batch_size != now.batch_size)
    return is_overdue(numbers)
               ? end_search(numbers, now.workers, now.batch_size,
                            fmt::format("K = {} were not to be had within {}", last.workers,
                                        format_duration(kLongestWait)))
               : std::vector<RunEvent>{};
  if (is_auto)
    return last.phase == SearchPhase::kEnded ? std::vector<RunEvent>{}
                                             : continue_auto_search(setting, numbers);
  SearchLook look(setting, numbers);
  switch (last.phase) {
    case SearchPhase::kColdStart:
      return look.wait_for_noise(last);
    case SearchPhase::kProfiling:
      return look.measure();
    case SearchPhase::kAgain:
      return look.measure_again();
    case SearchPhase::kSettled:
      return look.watch();
    case SearchPhase::kEnded:
      break;
  }
  return {};
}

std::vector<RunEvent> end_search(const RunNumbers& numbers, std::uint32_t workers,
                                 std::uint32_t batch_size, std::string reason) {
  const auto& steps = numbers.search_steps;
  if (steps.total > 0 && steps.latest.back().fact.phase == SearchPhase::kEnded) return {};
  return {fact::SearchStep{numbers.iterations, SearchPhase::kEnded, workers, batch_size,
                           std::move(reason)}};
}

}  // namespace scavenger::elastic
