#include "test/study/search/trial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "perfmodel/epochs/statistical_model.h"
#include "perfmodel/search/adaptive_search.h"
#include "perfmodel/search/worthwhile_search.h"
#include "perfmodel/time/time_model.h"
#include "runtime/base/error.h"
#include "test/study/search/trial_job.h"

namespace scavenger::perfmodel {
namespace {

// Looks after every report what is to be done.
class Searcher {
 public:
  virtual ~Searcher() = default;
  virtual void look(TrialJob& job) = 0;
  virtual double largest_share() const { return 0.0; }
  virtual std::uint64_t broken_off() const { return 0; }
};

class OffSearcher final : public Searcher {
 public:
  void look(TrialJob&) override {}
};

std::vector<Configuration> configurations_of(const TrialTruth& truth) {
  std::vector<Configuration> all;
  for (const TrialPoint& point : truth.points) all.push_back(point.configuration);
  return all;
}

// `partial` and `adaptive` as elastic/search decides them.
class CornerSearcher final : public Searcher {
 public:
  CornerSearcher(const TrialTruth& truth, const TrialSetting& setting)
      : truth_(truth), setting_(setting), configurations_(configurations_of(truth)) {}

  void look(TrialJob& job) override {
    if (settled_) return watch(job);
    const auto noise = job.noise();
    if (!cold_over_) {
      const bool is_stable = noise && noise->high < 1.2 * noise->low;
      if (!is_stable && job.iterations() < setting_.cold_start_iterations) return;
    }
    if (!noise || !suffices(job.stays().back())) return;
    cold_over_ = true;
    known_[job.place()] = *job.stays().back().whole;
    next(job);
  }

 private:
  static bool suffices(const Stay& stay) {
    if (!stay.whole || stay.whole->iterations < 20) return false;
    const auto iterations = static_cast<double>(stay.whole->iterations);
    if (iterations * stay.whole->seconds < 0.3) return false;
    const double rounds = iterations / 20.0;
    return rounds >= 10.0 || stay.whole->relative_error <= 0.02 * rounds;
  }

  std::vector<TimeObservation> times() const {
    std::vector<TimeObservation> times;
    for (const auto& [place, pace] : known_)
      times.push_back({configurations_[place], pace.seconds, pace.relative_error * pace.seconds});
    return times;
  }

  std::vector<JobPrediction> predictions(const TimeModel& model, const TrialJob& job) const {
    const auto statistics = StatisticalModel::noise_scale({}, job.noise()->scale);
    std::vector<JobPrediction> all;
    for (const Configuration& c : configurations_)
      all.push_back(predict_job(c, model, statistics, truth_.samples_per_epoch,
                                {.worker_per_hour = 1.0, .billing = kExactBilling}));
    return all;
  }

  void next(TrialJob& job) {
    for (const std::size_t corner : corner_candidates(configurations_))
      if (!known_.contains(corner)) return go(job, corner);
    const auto model = time_model();
    if (!model) return go_anywhere(job);
    const auto predicted = predictions(*model, job);
    if (setting_.mode == TrialMode::kAdaptive && known_.size() < 9) {
      const auto importance = policy_importance(setting_.policy, predicted);
      bool is_known_well = true;
      for (std::size_t i = 0; i < importance.size(); ++i)
        is_known_well &= importance[i] <= 0.1 || predicted[i].iteration_seconds.standard_error <=
                                                     0.03 * predicted[i].iteration_seconds.value;
      std::vector<bool> measured(configurations_.size());
      for (const auto& [place, pace] : known_) measured[place] = true;
      if (!is_known_well)
        if (const auto most = next_candidate(*model, configurations_, measured, importance))
          return go(job, *most);
    }
    choose_from(predicted, job);
  }

  // Nothing where the corners say too little: anything helps then.
  std::optional<TimeModel> time_model() const {
    try {
      return TimeModel(times());
    } catch (const DataError&) {
      return std::nullopt;
    }
  }
  void go_anywhere(TrialJob& job) {
    for (std::size_t place = 0; place < configurations_.size(); ++place)
      if (!known_.contains(place)) return go(job, place);
  }

  void go(TrialJob& job, std::size_t place) {
    if (place != job.place()) job.move_to(place, StayKind::kBase);
  }

  void choose_from(const std::vector<JobPrediction>& predicted, TrialJob& job) {
    std::vector<Candidate> candidates;
    for (const JobPrediction& p : predicted)
      candidates.push_back({p.configuration, p.seconds.value, p.cost.value,
                            p.iteration_seconds.standard_error / p.iteration_seconds.value});
    const std::size_t chosen = choose(candidates, setting_.policy).choice->index;
    const Candidate &now = candidates[job.place()], &then = candidates[chosen];
    const double left = std::max(60.0, job.seconds());
    const double faster = then.seconds / now.seconds;
    const double change = job.mean_change_seconds();
    const Move move{left,          left * now.cost / now.seconds,
                    left * faster, left * faster * then.cost / then.seconds,
                    change,        change * then.cost / then.seconds};
    settled_ = true;
    rest_until_ = job.seconds() + std::max(30.0, 0.3 * job.seconds());
    if (chosen != job.place() && worth_moving(move, setting_.policy, 0.05)) go(job, chosen);
    const Estimate& seconds = predicted[job.place()].iteration_seconds;
    expected_ = seconds;
  }

  void watch(TrialJob& job) {
    const Stay& stay = job.stays().back();
    if (job.seconds() < rest_until_ || !stay.last) return;
    rest_until_ = job.seconds() + std::max(30.0, 0.3 * job.seconds());
    const double seconds = stay.last->seconds;
    const bool drifts = (seconds < expected_.low || seconds > expected_.high) &&
                        std::abs(seconds / expected_.value - 1.0) > 0.25;
    if (!drifts) return;
    if (known_.contains(job.place())) {  // measures again
      known_.clear();
      settled_ = false;
    } else {
      known_[job.place()] = *stay.last;
      next(job);
    }
  }

  const TrialTruth& truth_;
  const TrialSetting& setting_;
  const std::vector<Configuration> configurations_;
  std::map<std::size_t, MeasuredPace> known_;
  Estimate expected_;
  bool cold_over_ = false;
  bool settled_ = false;
  double rest_until_ = 0.0;
};

class AutoSearcher final : public Searcher {
 public:
  AutoSearcher(const TrialTruth& truth, const TrialSetting& setting)
      : truth_(truth), setting_(setting), base_(setting.start) {
    for (const TrialPoint& point : truth.points)
      candidates_.push_back({point.configuration, point.configuration.workers});
  }

  void look(TrialJob& job) override {
    const Stay& now = job.stays().back();
    // As elastic/search: after each report of a visit, else ever more rarely.
    if (now.kind != StayKind::kVisit && job.seconds() < next_look_) return;
    next_look_ = job.seconds() * 1.05;
    SearchSituation situation{.candidates = candidates_,
                              .policy = setting_.policy,
                              .budget = setting_.budget,
                              .stays = job.stays(),
                              .elapsed_seconds = job.seconds(),
                              .elapsed_dollars = job.machine_seconds(),
                              .noise = job.noise(),
                              .noise_growth = job.noise_growth(),
                              .losses = job.losses(),
                              .change_seconds = job.mean_change_seconds(),
                              .start_seconds = setting_.start_seconds,
                              .report_seconds = TrialJob::kLookReportSeconds};
    if (setting_.knows_length && job.progress() > 0.0) {
      const TrialPoint& base = truth_.points[base_];
      situation.left_seconds = (1.0 - job.progress()) * truth_.job_seconds(base);
    }
    if (setting_.knows_epochs)
      situation.known_epochs_ratio = [this](double a, double b) {
        return epochs_at(a) / epochs_at(b);
      };
    const SearchAdvice advice = advise(situation);
    note_share(job, advice.charged);
    if (advice.move == SearchMove::kLook) {
      expected_change_ = job.mean_change_seconds();
      job.move_to(advice.candidate, StayKind::kVisit);
      late_seconds_ = lateness(job);
    } else if (advice.move == SearchMove::kAdopt) {
      job.set_kind(StayKind::kAdopted);
      base_ = advice.candidate;
    } else if (advice.move == SearchMove::kReturn) {
      broken_off_ += advice.is_broken_off ? 1 : 0;
      job.move_to(advice.candidate, StayKind::kBase);
      late_seconds_ += lateness(job);
      next_look_ = job.seconds();
    }
  }

  double largest_share() const override { return largest_share_; }
  std::uint64_t broken_off() const override { return broken_off_; }

 private:
  // By how much the last move took longer than was to be expected when the look began.
  double lateness(const TrialJob& job) const {
    return std::max(0.0, job.stays().back().change_seconds - expected_change_);
  }

  double epochs_at(double batch) const {
    for (const TrialPoint& point : truth_.points)
      if (point.configuration.global_batch == batch) return point.epochs;
    return 0.0;
  }

  void note_share(const TrialJob& job, const Expense& charged) {
    const double over = job.longest_look_report() + late_seconds_;
    double workers = 0.0;  // of the last two stays, which moves and reports may overrun in
    const std::size_t count = job.stays().size();
    for (std::size_t i = count < 2 ? 0 : count - 2; i < count; ++i)
      workers = std::max(workers, job.stays()[i].dollars_per_second);
    const double of_time = (charged.seconds - over) / job.seconds();
    const double of_cost = (charged.dollars - over * workers) / job.machine_seconds();
    if (setting_.policy != Policy::kMinimumCost) largest_share_ = std::max(largest_share_, of_time);
    if (setting_.policy != Policy::kMinimumTime) largest_share_ = std::max(largest_share_, of_cost);
  }

  const TrialTruth& truth_;
  const TrialSetting& setting_;
  std::vector<PricedConfiguration> candidates_;
  double next_look_ = 0.0;
  double largest_share_ = 0.0;
  double expected_change_ = 0.0;  // of the last look
  double late_seconds_ = 0.0;     // of its moves: M
  std::uint64_t broken_off_ = 0;
  std::size_t base_;
};

std::unique_ptr<Searcher> make_searcher(const TrialTruth& truth, const TrialSetting& setting) {
  switch (setting.mode) {
    case TrialMode::kOff:
      return std::make_unique<OffSearcher>();
    case TrialMode::kPartial:
    case TrialMode::kAdaptive:
      return std::make_unique<CornerSearcher>(truth, setting);
    case TrialMode::kAuto:
      break;
  }
  return std::make_unique<AutoSearcher>(truth, setting);
}

}  // namespace

TrialOutcome run_trial(const TrialTruth& truth, const TrialSetting& setting, std::uint64_t seed) {
  TrialJob job(truth, setting, seed);
  const auto searcher = make_searcher(truth, setting);
  TrialOutcome outcome;
  while (!job.is_done()) {
    job.report();
    if (!job.is_done()) searcher->look(job);
  }
  outcome.seconds = job.seconds();
  outcome.machine_seconds = job.machine_seconds();
  outcome.largest_share = searcher->largest_share();
  outcome.broken_off = searcher->broken_off();
  const TrialPoint& oracle = truth.oracle(setting.policy);
  const double best = truth.objective(oracle, setting.policy);
  outcome.objective = objective_of(outcome.seconds, outcome.machine_seconds, setting.policy);
  outcome.last = job.stays().back().configuration;
  outcome.regret = truth.objective(truth.points[job.place()], setting.policy) / best - 1.0;
  outcome.moves = job.moves();
  return outcome;
}

}  // namespace scavenger::perfmodel
