// The gradient noise of a running job, from the squared norms that synchronisation yields.
//
// Kept as exponential averages of G = |E g|^2 and of T = tr Cov per sample, in units that do not
// depend on the configuration: what was learned at one (K, B) remains valid at another. Averages
// first, then ratios and clips (clipping each iteration biases G upwards without bound as G
// vanishes). O(1) per iteration, no allocation.
//
// Thread: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "noise/gradient_moments.h"
#include "noise/ratio_interval.h"
#include "noise/stability.h"

namespace scavenger::noise {

struct NoiseOptions {
  // Time constant of the averages: iteration i back has weight exp(-i / window). Longer if measured
  // iterations are further apart than a batch mean is long: it holds as many batch means.
  double window_iterations = 1000.0;
  // While that is shorter, this share of the phase's iterations so far (but two batch means). The
  // first gradients are much larger than all that follow: a long average would go on seeing little
  // noise because of them (docs/design/noise.md has real jobs).
  double window_share = 0.5;
  // Iterations per batch mean, for the error of the averages. Longer than the correlation between
  // successive iterations, which comes from the weights' drift only: fresh samples are independent.
  std::uint32_t batch_mean_iterations = 10;
  double confidence = 0.95;
  // A learning rate that differs from the phase's by more than this factor starts a new phase:
  // the noise depends on it (Scavenger section III.A), so older averages say nothing any more.
  double phase_rate_factor = 1.25;
  StabilityOptions stability{};
};

// One iteration. `parts` are the workers' batches b_k with |g_k|^2; for one worker, two halves of
// its batch at the same weights (never successive gradients, whose difference also measures
// curvature).
struct NoiseIteration {
  std::span<const PartNorm> parts;
  double batch_sqr_norm = 0.0;  // |sum_k (b_k / B) g_k|^2
  double learning_rate = 0.0;
  // Iterations since the last one that was added: if not every iteration can be measured, what was
  // measured before is forgotten by all that have passed, and one after so many iterations that
  // they fill a batch mean is a batch mean of its own.
  std::uint32_t spacing = 1;
};

// A value with its confidence interval; `high` may be infinity.
struct Measured {
  double value = 0.0;
  Interval interval;
};

struct NoiseEstimate {
  GradientMoments moments;          // averages, not clipped
  GradientMoments standard_errors;  // of these averages
  Measured noise_scale;             // B_s in samples; infinity if the average of G is not positive
  bool stable = false;
  std::uint64_t iterations = 0;  // used in this learning-rate phase
};

// gamma (Scavenger eq. 2) that the estimate implies at K workers and global batch B; at the
// configuration it was measured at this is the ratio of the averaged norms itself. Divide by K for
// gamma_n. One worker: 1.
Measured gamma_at(const NoiseEstimate& estimate, double workers, double global_batch);

class NoiseEstimator final {
 public:
  explicit NoiseEstimator(NoiseOptions options = {});

  // Starts a new phase first if the learning rate has made a step. Returns false, and changes
  // nothing else, if the iteration says nothing (see estimate_moments).
  bool add(const NoiseIteration& iteration);

  // Nothing before the first iteration of a phase.
  std::optional<NoiseEstimate> estimate() const;

  // Its state as kStateNumbers numbers, from which another estimator goes on that has not seen the
  // iterations. Whole numbers stay whole.
  static constexpr std::size_t kStateNumbers = 30;
  std::array<double, kStateNumbers> state() const;
  void restore(const std::array<double, kStateNumbers>& state);

  // Learning-rate phases started so far, and the learning rate of the present one.
  std::uint32_t phase() const { return phase_; }
  double phase_learning_rate() const { return phase_learning_rate_; }

 private:
  // Sums of squares and products of differences between successive batch means, each scaled to the
  // variance of one iteration, in exponential average. Differences, because a slow drift of the
  // mean then cancels (von Neumann 1941).
  struct BatchMeanErrors {
    double gradient_gradient = 0.0;
    double trace_trace = 0.0;
    double gradient_trace = 0.0;
    double weight = 0.0;
    double sqr_weight = 0.0;
  };
  struct Averages {
    double gradient = 0.0;  // sums, to be divided by weight (this is the bias correction)
    double trace = 0.0;
    double weight = 0.0;
    double sqr_weight = 0.0;
    std::uint64_t iterations = 0;
    double age = 0.0;  // iterations since the phase began, those included that were not measured
    GradientMoments batch_sum;
    GradientMoments previous_batch_mean;
    std::uint32_t in_batch = 0;        // iterations that were measured
    std::uint32_t batch_length = 0;    // iterations that they stand for
    std::uint32_t previous_batch = 0;  // measured ones in the batch before
    std::uint64_t batches = 0;
    BatchMeanErrors errors;
  };

  template <typename Self, typename Visit>
  static void visit_state(Self& self, const Visit& visit);
  void enter_phase(double learning_rate);
  void average(const GradientMoments& moments, std::uint32_t spacing);
  void watch_stability(const NoiseIteration& iteration, const GradientMoments& moments);
  void finish_batch();
  double window(double spacing) const;
  RatioEstimate averaged_ratio() const;
  double degrees_of_freedom() const;

  NoiseOptions options_;
  Averages averages_;
  StabilityDetector stability_;
  double reference_parts_ = 0.0;  // the (K, B) whose gamma the stability detector watches
  double reference_batch_ = 0.0;
  std::uint32_t phase_ = 0;
  double phase_learning_rate_ = 0.0;
};

}  // namespace scavenger::noise
