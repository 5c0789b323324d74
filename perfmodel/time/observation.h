// What was measured of a configuration, and the checks that every model's input passes first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace scavenger::perfmodel {

// K workers that share a global batch of B samples. B need not be a multiple of K.
struct Configuration {
  double workers = 1.0;       // K
  double global_batch = 1.0;  // B
  // Of computing, where the workers' machines are unequal, beside those that a model is of.
  double slowdown = 1.0;

  double local_batch() const { return global_batch / workers; }  // b, the mean over workers
  bool operator==(const Configuration&) const = default;
};

// The mean time of an iteration of one configuration, over about 20 iterations or more, the first
// few discarded.
struct TimeObservation {
  Configuration configuration;
  double seconds = 0.0;         // per iteration
  double standard_error = 0.0;  // of that mean; 0: not known
};

// Epochs that a run took to its target at a global batch, in one learning-rate phase or schedule.
struct EpochObservation {
  double global_batch = 0.0;
  double epochs = 0.0;
  std::uint32_t phase = 0;  // of the learning-rate schedule; a fit takes one phase only
};

// Noise that was measured at a configuration: Scavenger's gamma / K.
struct NoiseObservation {
  double global_batch = 0.0;
  double normalised_noise = 0.0;
  std::uint32_t phase = 0;
};

// Throw DataError that names the observation: numbers that are not finite and positive, K < 1,
// B < K.
void check_observations(std::span<const TimeObservation> observations);
void check_observations(std::span<const EpochObservation> observations);
void check_observations(std::span<const NoiseObservation> observations);

// A value with the standard error and the interval that its model gives.
struct Estimate {
  double value = 0.0;
  double standard_error = 0.0;
  double low = 0.0;
  double high = 0.0;
};

}  // namespace scavenger::perfmodel
