// The gradient noise of a job, from its events: of all workers' batches, or, if there is one
// worker, of its batch's halves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elastic/events/event.h"
#include "noise/noise_estimator.h"
#include "perfmodel/search/noise_trend.h"

namespace scavenger::elastic {

// Of some iterations, in the units of noise/: valid at every (K, B).
struct NoiseNumbers {
  std::uint32_t phase = 0;           // learning-rate phases count from 1
  double learning_rate = 0.0;        // the schedule's at its beginning
  std::uint64_t last_iteration = 0;  // complete, when it was last measured
  noise::NoiseEstimate estimate;
};

struct GroupNoise {
  std::string name;
  noise::NoiseEstimate estimate;
};

// Estimates what the iterations of any memberships have in common. One thread.
class NoiseMeter final {
 public:
  explicit NoiseMeter(noise::NoiseOptions options = {}) : estimator_(options) {}

  void add(const fact::Membership& membership, const fact::Iterations& iterations);
  // All that it goes by, for a log, and the way back: another that has seen the same iterations.
  static constexpr std::size_t kStateNumbers = fact::kNoiseStateNumbers;
  std::vector<fact::Exact> state() const;
  void restore(const std::vector<fact::Exact>& state);
  // Of the present phase of the schedule's learning rate; nothing if nothing was measured in it.
  std::optional<NoiseNumbers> numbers() const;

 private:
  void add_norms(const noise::NoiseIteration& iteration, std::uint64_t index);

  noise::NoiseEstimator estimator_;
  std::optional<std::uint64_t> last_;   // iteration that was added
  std::vector<noise::PartNorm> parts_;  // reused
};

class JobNoise final {
 public:
  void set_groups(std::vector<std::string> names);
  void add(const fact::Membership& membership, const fact::Iterations& iterations);
  void add(const fact::Membership& membership, const fact::IterationBlock& block);
  const NoiseMeter& meter() const { return meter_; }
  void note_announced(std::uint32_t phase) { announced_phase_ = phase; }

  // Of the present phase: the trace per sample is kept across memberships.
  std::optional<NoiseNumbers> numbers() const { return meter_.numbers(); }
  // The noise scale of these, and by how much it grows; nothing as long as it is not known.
  std::optional<perfmodel::MeasuredNoise> scale() const;
  std::optional<perfmodel::NoiseGrowth> growth() const { return trend_.latest(); }
  // As each was when the learning rate left it; the latest kMaxListed.
  const std::vector<NoiseNumbers>& ended_phases() const { return ended_; }
  std::vector<GroupNoise> groups() const;
  double half_batch_seconds() const { return half_batch_seconds_; }
  // Set once in each phase: it has settled, and nobody was told yet.
  std::optional<fact::NoiseStable> news() const;

 private:
  static constexpr std::size_t kMaxListed = 200;

  void follow(const fact::Membership& membership, std::uint64_t iterations,
              const std::optional<NoiseNumbers>& before);
  void add_halves(const std::vector<fact::HalfBatches>& half_batches, double learning_rate);

  NoiseMeter meter_;
  std::vector<NoiseNumbers> ended_;
  perfmodel::NoiseTrend trend_;  // of the present phase
  double samples_ = 0.0;         // of the whole job, those of lost iterations included
  std::vector<std::string> group_names_;
  std::vector<noise::NoiseEstimator> groups_;
  std::optional<std::uint64_t> last_halves_;  // iteration
  double half_batch_seconds_ = 0.0;
  std::uint32_t announced_phase_ = 0;
};

}  // namespace scavenger::elastic
