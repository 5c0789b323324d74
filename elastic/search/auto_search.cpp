#include "elastic/search/auto_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "elastic/history/search_stays.h"
#include "elastic/history/time_to_go.h"
#include "elastic/plan/run_record.h"
#include "elastic/search/search_grid.h"
#include "elastic/search/stored_models.h"
#include "perfmodel/search/worthwhile_search.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

using fact::SearchPhase;
using perfmodel::Configuration;
using perfmodel::PricedConfiguration;
using perfmodel::RelativeObjective;
using perfmodel::SearchAdvice;
using perfmodel::SearchMove;
using perfmodel::Stay;

bool is_same(const Configuration& a, const Configuration& b) {
  return a.workers == b.workers && a.global_batch == b.global_batch;
}

std::string words_for(const Configuration& configuration) {
  return fmt::format("K = {}, B = {}", configuration.workers, configuration.global_batch);
}

RunEvent step_to(const RunNumbers& numbers, SearchPhase phase, const Configuration& wanted,
                 std::string reason) {
  return fact::SearchStep{numbers.iterations, phase, static_cast<std::uint32_t>(wanted.workers),
                          static_cast<std::uint32_t>(wanted.global_batch), std::move(reason)};
}

// While the job trains at its base, only now and then: at the beginning of each stretch of time
// that is a twentieth longer than the one before. A report comes about every half a second.
bool is_time_to_look(double seconds) {
  constexpr double kStretch = 1.05;
  constexpr double kShortestWindow = 1.0;
  constexpr double kWindow = 0.005;  // of the job's life, where reports come rarely
  if (!(seconds > 0.0)) return false;
  const double begin = std::pow(kStretch, std::floor(std::log(seconds) / std::log(kStretch)));
  return seconds - begin <= std::max(kShortestWindow, kWindow * seconds);
}

// By the limits alone; with a target nobody knows more than that the job will last as long again.
std::optional<double> seconds_left(const RunNumbers& numbers) {
  const auto to_go = estimate_time_to_go(numbers);
  if (!to_go) return std::nullopt;
  return to_go->at_most ? std::min(to_go->seconds, numbers.seconds) : to_go->seconds;
}

// On unequal machines each K computes at its own pace.
Configuration with_slowdown(const Configuration& configuration,
                            const perfmodel::MachinePool& machines) {
  if (!machines.is_mixed()) return configuration;
  const perfmodel::TimeObservation one{configuration, 1.0};
  return perfmodel::with_slowdowns({&one, 1}, machines).front().configuration;
}

class AutoLook final {
 public:
  AutoLook(const SearchSetting& setting, const RunNumbers& numbers)
      : setting_(setting),
        numbers_(numbers),
        stays_(search_stays(numbers, setting.config.cluster.price_per_worker_hour, setting.machines,
                            setting.config.provider.is_remote())),
        losses_(training_losses(numbers)) {
    if (!setting.stored.empty())
      earlier_noise_ = stored_noise_scales(setting.stored, signature_of(setting.config, numbers));
    const auto grid =
        candidates_in_memory(setting.candidates, setting.config.search, numbers.room_samples());
    for (const Configuration& one : grid) add_candidate(one);
    for (const Stay& stay : stays_.stays) add_candidate(stay.configuration);
  }

  std::vector<RunEvent> look() const;

 private:
  void add_candidate(const Configuration& configuration);
  perfmodel::SearchSituation situation(std::span<const Stay> stays) const;
  std::vector<RunEvent> begin_look(const SearchAdvice& advice) const;
  std::vector<RunEvent> adopt(const SearchAdvice& advice) const;
  std::vector<RunEvent> go_back(const SearchAdvice& advice) const;
  fact::Prediction prediction(std::span<const Stay> stays, const std::string& reason) const;
  std::string objective_text() const;
  std::string spent_text(const SearchAdvice& advice) const;
  bool is_measured(const Configuration& configuration) const;

  const SearchSetting& setting_;
  const RunNumbers& numbers_;
  const SearchStays stays_;
  const std::vector<perfmodel::LossPoint> losses_;
  std::vector<double> earlier_noise_;
  std::vector<PricedConfiguration> candidates_;
};

void AutoLook::add_candidate(const Configuration& configuration) {
  const auto is_known = [&](const PricedConfiguration& one) {
    return is_same(one.configuration, configuration);
  };
  if (std::ranges::any_of(candidates_, is_known)) return;
  candidates_.push_back(
      {with_slowdown(configuration, setting_.machines),
       dollars_per_second(configuration.workers, setting_.config.cluster.price_per_worker_hour,
                          setting_.machines)});
}

perfmodel::SearchSituation AutoLook::situation(std::span<const Stay> stays) const {
  return {.candidates = candidates_,
          .policy = setting_.config.search.policy,
          .budget = setting_.config.search.budget,
          .iterations = setting_.config.search.iterations,
          .stays = stays,
          .elapsed_seconds = numbers_.seconds,
          .elapsed_dollars = stays_.elapsed_dollars,
          .left_seconds = seconds_left(numbers_),
          .noise = numbers_.noise.scale(),
          .noise_growth = numbers_.noise.growth(),
          .noise_of_earlier_jobs = perfmodel::noise_of_earlier_jobs(earlier_noise_),
          .losses = losses_,
          .change_seconds = stays_.change_seconds,
          .start_seconds = stays_.start_seconds};
}

std::string AutoLook::objective_text() const {
  switch (setting_.config.search.policy) {
    case Policy::kMinimumTime:
      return "time";
    case Policy::kMinimumCost:
      return "cost";
    case Policy::kKnee:
      break;
  }
  return "time x cost";
}

std::string AutoLook::spent_text(const SearchAdvice& advice) const {
  if (setting_.config.search.policy == Policy::kMinimumCost)
    return fmt::format("looking has cost {:.2g} % of the money so far",
                       100.0 * advice.charged.dollars / stays_.elapsed_dollars);
  return fmt::format("looking has cost {} so far, {:.2g} % of the time",
                     format_duration(advice.charged.seconds),
                     100.0 * advice.charged.seconds / numbers_.seconds);
}

bool AutoLook::is_measured(const Configuration& configuration) const {
  return std::ranges::any_of(stays_.stays, [&](const Stay& stay) {
    return stay.whole && is_same(stay.configuration, configuration);
  });
}

// All candidates beside the base, whose pace is known. Epochs, and what follows from them, are in
// units of those at the base's batch.
fact::Prediction AutoLook::prediction(std::span<const Stay> stays,
                                      const std::string& reason) const {
  const Stay& base = stays[perfmodel::base_of(stays)];
  const double pace = base.last ? base.last->seconds : base.whole ? base.whole->seconds : 0.0;
  const auto samples = static_cast<double>(numbers_.start.samples_per_epoch);
  const auto objectives = perfmodel::relative_objectives(situation(stays));
  fact::Prediction prediction;
  prediction.iteration = numbers_.iterations;
  prediction.policy = setting_.config.search.policy;
  prediction.relative = true;
  prediction.reference_batch = base.configuration.global_batch;
  prediction.time_form = "mixture of laws";
  prediction.statistical_form = "noise_scale";
  const auto noise = numbers_.noise.scale();
  prediction.noise_scale = noise ? noise->scale : std::numeric_limits<double>::quiet_NaN();
  if (const auto measured = numbers_.noise.numbers()) prediction.noise_phase = measured->phase;
  prediction.workers = static_cast<std::uint32_t>(base.configuration.workers);
  prediction.batch_size = static_cast<std::uint32_t>(base.configuration.global_batch);
  prediction.reason = reason;
  std::vector<perfmodel::Candidate> all;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const RelativeObjective& one = objectives[i];
    const Configuration& at = candidates_[i].configuration;
    const double iterations = one.epochs * samples / at.global_batch;
    const double seconds = iterations * pace * one.pace;
    prediction.candidates.push_back({.workers = static_cast<std::uint32_t>(at.workers),
                                     .batch_size = static_cast<std::uint32_t>(at.global_batch),
                                     .iteration_seconds = pace * one.pace,
                                     .iteration_seconds_low = pace * one.pace_low,
                                     .iteration_seconds_high = pace * one.pace_high,
                                     .epochs = one.epochs,
                                     .seconds = seconds,
                                     .seconds_low = iterations * pace * one.pace_low,
                                     .seconds_high = iterations * pace * one.pace_high,
                                     .cost = seconds * candidates_[i].dollars_per_second,
                                     .measured = is_measured(at)});
    all.push_back({at, seconds, seconds * candidates_[i].dollars_per_second});
  }
  for (const std::size_t i : perfmodel::pareto_set(all)) prediction.candidates[i].pareto = true;
  return prediction;
}

std::vector<RunEvent> AutoLook::begin_look(const SearchAdvice& advice) const {
  const Configuration& wanted = candidates_[advice.candidate].configuration;
  return {step_to(
      numbers_, SearchPhase::kProfiling, wanted,
      fmt::format("looks here: may save {:.2g} % of the {} that is left, for {:.2g} % "
                  "of it",
                  100.0 * advice.expected_gain, objective_text(), 100.0 * advice.expected_cost))};
}

std::vector<RunEvent> AutoLook::adopt(const SearchAdvice& advice) const {
  const Configuration& here = candidates_[advice.candidate].configuration;
  const Configuration before = stays_.stays[perfmodel::base_of(stays_.stays)].configuration;
  const std::string reason =
      fmt::format("stays here: {:.2f} times the {} of {} ({:.2f} to {:.2f} by its seconds); {}",
                  advice.objective.expected, objective_text(), words_for(before),
                  advice.objective.low, advice.objective.high, spent_text(advice));
  std::vector<Stay> stays = stays_.stays;
  stays.back().kind = perfmodel::StayKind::kAdopted;
  return {prediction(stays, reason), step_to(numbers_, SearchPhase::kSettled, here, reason)};
}

std::vector<RunEvent> AutoLook::go_back(const SearchAdvice& advice) const {
  const Configuration& base = candidates_[advice.candidate].configuration;
  const Configuration& looked_at = stays_.stays.back().configuration;
  const std::string begun =
      advice.is_broken_off
          ? fmt::format("breaks the look off after {} iterations, and goes back: by them, {}",
                        stays_.stays.back().iterations, words_for(looked_at))
          : fmt::format("goes back: {}", words_for(looked_at));
  const std::string reason =
      fmt::format("{} would take {:.2f} times the {} ({:.2f} to {:.2f} by its seconds); {}", begun,
                  advice.objective.expected, objective_text(), advice.objective.low,
                  advice.objective.high, spent_text(advice));
  return {prediction(stays_.stays, reason), step_to(numbers_, SearchPhase::kSettled, base, reason)};
}

std::vector<RunEvent> AutoLook::look() const {
  // What looking has cost is not known any more where memberships were folded together.
  if (stays_.stays.empty() || !stays_.is_complete) return {};
  const bool is_visit = stays_.stays.back().kind == perfmodel::StayKind::kVisit;
  if (!is_visit && !is_time_to_look(numbers_.seconds)) return {};
  const SearchAdvice advice = perfmodel::advise(situation(stays_.stays));
  switch (advice.move) {
    case SearchMove::kNone:
      break;
    case SearchMove::kLook:
      return begin_look(advice);
    case SearchMove::kAdopt:
      return adopt(advice);
    case SearchMove::kReturn:
      return go_back(advice);
  }
  return {};
}

}  // namespace

std::vector<RunEvent> begin_auto_search(const SearchSetting& setting, const RunNumbers& numbers) {
  const fact::Membership& now = numbers.phases.back().membership;
  return {step_to(numbers, SearchPhase::kColdStart,
                  {static_cast<double>(now.workers), static_cast<double>(now.batch_size)},
                  fmt::format("stays as configured, and looks elsewhere where that is likely to "
                              "pay; looking may take {:g} % of the job (--search off: no looks)",
                              100.0 * setting.config.search.budget))};
}

std::vector<RunEvent> continue_auto_search(const SearchSetting& setting,
                                           const RunNumbers& numbers) {
  return AutoLook(setting, numbers).look();
}

}  // namespace scavenger::elastic
