// The job itself: its clock, its progress, and what its timers say.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "perfmodel/search/epochs_ratio.h"
#include "perfmodel/search/exploration.h"
#include "perfmodel/search/measured_progress.h"
#include "runtime/base/random.h"
#include "test/study/search/trial.h"
#include "test/study/search/trial_truth.h"

namespace scavenger::perfmodel {

class TrialJob final {
 public:
  static constexpr double kLookReportSeconds = 0.05;
  static constexpr std::uint64_t kCloselyWatched = 32;  // iterations of a look

  TrialJob(const TrialTruth& truth, const TrialSetting& setting, std::uint64_t seed);

  // Trains for one report: a fifth of a second, and ever longer as the job grows old. At the
  // beginning of a look, as many iterations as were granted: one at first, then what takes so long
  // at the pace so far.
  void report();
  void move_to(std::size_t point, StayKind kind);
  void set_kind(StayKind kind) { stays_.back().kind = kind; }

  bool is_done() const { return progress_ >= 1.0; }
  double progress() const { return progress_; }
  double seconds() const { return seconds_; }
  double machine_seconds() const { return machine_seconds_; }
  std::size_t place() const { return place_; }
  std::uint64_t iterations() const { return iterations_; }
  std::uint64_t moves() const { return stays_.size() - 1; }
  const std::vector<Stay>& stays() const { return stays_; }
  const std::vector<LossPoint>& losses() const { return losses_; }
  double mean_change_seconds() const;
  double longest_look_report() const { return longest_report_; }  // of the last look
  std::optional<MeasuredNoise> noise() const;
  std::optional<NoiseGrowth> noise_growth() const { return trend_.latest(); }

 private:
  struct Moments {
    double count = 0.0, mean = 0.0, squares = 0.0;
    void add(double value, double n, double deviation);
    MeasuredPace pace() const;
  };
  double slowdown_at(double seconds) const;
  double report_iterations(double expected) const;
  double long_iterations(double iterations, double expected);
  void spend(double seconds);
  void add_loss(double samples);
  void average_noise(double iterations);

  const TrialTruth& truth_;
  const TrialSetting& setting_;
  RandomStream stream_;
  RandomStream loss_stream_;
  std::size_t disturbance_begin_ = 0;
  std::vector<Stay> stays_;
  std::vector<LossPoint> losses_;  // neighbours are merged where there are many
  Moments whole_;
  std::deque<std::pair<double, Moments>> latest_;  // seconds of each report
  std::size_t place_;
  double seconds_ = 0.0;
  double machine_seconds_ = 0.0;
  double progress_ = 0.0;
  double noise_information_ = 0.0;
  NoiseTrend trend_;
  double noise_error_ = 0.0;  // in standard deviations
  TrialStage averages_;       // of the stages' |G|^2 and trace
  double samples_ = 0.0;
  std::uint64_t iterations_ = 0;
  double longest_report_ = 0.0;
};

}  // namespace scavenger::perfmodel
