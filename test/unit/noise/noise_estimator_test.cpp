#include "noise/noise_estimator.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "test/unit/noise/known_gradients.h"

namespace scavenger::noise {
namespace {

constexpr double kGradient = 1.0;  // |mu|^2
constexpr double kTrace = 50.0;    // d s^2, so that B_s = 50
constexpr std::size_t kDimensions = 64;

// K parts of b samples; one worker is seen as two halves.
std::vector<double> equal_parts(std::size_t workers, double local_batch) {
  if (workers == 1) return {local_batch / 2, local_batch / 2};
  return std::vector<double>(workers, local_batch);
}

void feed(NoiseEstimator& estimator, KnownGradients& problem, const std::vector<double>& parts,
          int iterations, double learning_rate = 0.1) {
  for (int i = 0; i < iterations; ++i) {
    problem.draw(parts);
    estimator.add({problem.parts, problem.batch_sqr_norm, learning_rate});
  }
}

// From the first iteration on.
NoiseOptions fixed_window(double iterations) {
  return {.window_iterations = iterations, .window_share = std::numeric_limits<double>::infinity()};
}

NoiseOptions long_window() {
  return fixed_window(20000.0);
}

}  // namespace

TEST_CASE("The noise of a known problem is found within 2 % for every number of workers") {
  for (const std::size_t workers : {1, 2, 3, 4, 8, 16})
    for (const double local_batch : {4.0, 16.0, 64.0}) {
      NoiseEstimator estimator(long_window());
      KnownGradients problem(11, kDimensions, kGradient, kTrace);
      // Few samples per iteration need more iterations for the same precision.
      const double samples = static_cast<double>(workers) * local_batch;
      feed(estimator, problem, equal_parts(workers, local_batch),
           samples < 16   ? 60000
           : samples < 64 ? 20000
                          : 6000);

      const auto estimate = estimator.estimate();

      CAPTURE(workers, local_batch, estimate->noise_scale.interval.low,
              estimate->noise_scale.interval.high);
      REQUIRE(estimate);
      CHECK(estimate->noise_scale.value == Approx(50.0).epsilon(0.02));
      CHECK(estimate->moments.trace_per_sample == Approx(kTrace).epsilon(0.02));
      CHECK(estimate->moments.gradient_sqr_norm == Approx(kGradient).epsilon(0.02));
    }
}

TEST_CASE("Unequal batches give the same noise scale as equal ones") {
  const std::vector<std::vector<double>> splits{{4, 12, 48, 64}, {1, 63}, {10, 20, 34}};
  for (const auto& parts : splits) {
    NoiseEstimator estimator(long_window());
    KnownGradients problem(12, kDimensions, kGradient, kTrace);
    feed(estimator, problem, parts, 20000);

    CAPTURE(parts.size());
    CHECK(estimator.estimate()->noise_scale.value == Approx(50.0).epsilon(0.02));
  }
}

TEST_CASE("A 95 % interval covers the truth in 90 to 98 % of jobs") {
  struct Case {
    std::size_t workers;
    double local_batch;
    int iterations;
  };
  for (const Case c : {Case{1, 32, 400}, Case{2, 8, 400}, Case{4, 8, 200}, Case{16, 4, 100}}) {
    int covered = 0;
    const int jobs = 500;
    for (int job = 0; job < jobs; ++job) {
      NoiseEstimator estimator;
      KnownGradients problem(1000 + static_cast<std::uint64_t>(job), 32, kGradient, kTrace);
      feed(estimator, problem, equal_parts(c.workers, c.local_batch), c.iterations);
      const Interval interval = estimator.estimate()->noise_scale.interval;
      covered += interval.low <= 50.0 && 50.0 <= interval.high ? 1 : 0;
    }
    CAPTURE(c.workers, c.iterations, covered);
    CHECK(covered >= 0.90 * jobs);
    CHECK(covered <= 0.98 * jobs);
  }
}

TEST_CASE("At the configuration that was measured, gamma is the ratio of the averaged norms") {
  NoiseEstimator estimator(fixed_window(100.0));
  KnownGradients problem(13, kDimensions, kGradient, kTrace);
  double norms = 0.0, batch_norms = 0.0;
  for (int i = 0; i < 300; ++i) {
    problem.draw({8, 8, 8, 8});
    double mean = 0.0;
    for (const PartNorm& part : problem.parts) mean += part.sqr_norm / 4.0;
    norms = std::exp(-0.01) * norms + mean;
    batch_norms = std::exp(-0.01) * batch_norms + problem.batch_sqr_norm;
    estimator.add({problem.parts, problem.batch_sqr_norm, 0.1});
  }

  const auto estimate = estimator.estimate();

  CHECK(gamma_at(*estimate, 4, 32).value == Approx(norms / batch_norms).epsilon(1e-9));
  CHECK(gamma_at(*estimate, 1, 32).value == 1.0);
}

TEST_CASE("The first iterations' large gradients are soon forgotten") {
  NoiseEstimator estimator;
  KnownGradients first(17, kDimensions, 100.0 * kGradient, kTrace);
  feed(estimator, first, {32, 32}, 50);
  CHECK(estimator.estimate()->noise_scale.value == Approx(0.5).epsilon(0.2));
  KnownGradients later(18, kDimensions, kGradient, kTrace);

  feed(estimator, later, {32, 32}, 450);

  CHECK(estimator.estimate()->noise_scale.value > 0.7 * 50.0);
}

TEST_CASE("Rare measurements forget the first one by the iterations that have passed") {
  const std::vector<double> halves = {512, 512};
  NoiseEstimator estimator;
  KnownGradients first(19, kDimensions, 100.0 * kGradient, kTrace);
  feed(estimator, first, halves, 1);
  KnownGradients later(20, kDimensions, kGradient, kTrace);

  for (int i = 0; i < 4; ++i) {
    later.draw(halves);
    estimator.add({later.parts, later.batch_sqr_norm, 0.1, 300});
  }

  CHECK(estimator.estimate()->noise_scale.value > 0.4 * 50.0);
}

TEST_CASE("A resize keeps what was learned: the pooled average spans both configurations") {
  NoiseEstimator estimator(long_window());
  KnownGradients problem(14, kDimensions, kGradient, kTrace);

  feed(estimator, problem, {16, 16}, 3000);
  const double before = estimator.estimate()->standard_errors.trace_per_sample;
  feed(estimator, problem, std::vector<double>(8, 32.0), 3000);
  const auto after = estimator.estimate();

  CHECK(after->iterations == 6000);
  CHECK(after->standard_errors.trace_per_sample < before);
  CHECK(after->noise_scale.value == Approx(50.0).epsilon(0.03));
}

TEST_CASE("A step of the learning rate starts a new phase; a slow change does not") {
  NoiseEstimator estimator;
  KnownGradients problem(15, kDimensions, kGradient, kTrace);
  feed(estimator, problem, {16, 16}, 500, 0.1);
  feed(estimator, problem, {16, 16}, 10, 0.095);
  CHECK(estimator.phase() == 1);
  CHECK(estimator.estimate()->iterations == 510);

  feed(estimator, problem, {16, 16}, 10, 0.01);

  CHECK(estimator.phase() == 2);
  CHECK(estimator.phase_learning_rate() == 0.01);
  CHECK(estimator.estimate()->iterations == 10);
}

TEST_CASE("Without a measurable gradient the noise scale is unbounded, and the interval says so") {
  // Nearly always: in some jobs chance shows a gradient, or the errors are estimated too large.
  int unbounded = 0, far_from_zero = 0;
  const int jobs = 400;
  for (int job = 0; job < jobs; ++job) {
    NoiseEstimator estimator;
    KnownGradients problem(2000 + static_cast<std::uint64_t>(job), kDimensions, 1e-8, kTrace);
    feed(estimator, problem, {8, 8}, 400);

    const auto estimate = estimator.estimate();

    const bool is_unbounded = std::isinf(estimate->noise_scale.interval.high);
    unbounded += is_unbounded ? 1 : 0;
    CHECK((gamma_at(*estimate, 8, 64).interval.high == 8.0) == is_unbounded);
    far_from_zero += estimate->noise_scale.interval.low > 10.0 ? 1 : 0;
  }
  CAPTURE(unbounded, far_from_zero);
  CHECK(unbounded >= 0.93 * jobs);
  CHECK(far_from_zero >= 0.93 * jobs);
}

TEST_CASE("Averages come before clips: a weak gradient is not overestimated") {
  // True B_s = 2500: single iterations' |G|^2 are negative about half of the time.
  NoiseEstimator estimator(long_window());
  KnownGradients problem(17, kDimensions, 0.02, kTrace);
  feed(estimator, problem, {32, 32}, 40000);

  const auto estimate = estimator.estimate();

  CHECK(std::abs(estimate->moments.gradient_sqr_norm - 0.02) <
        4.0 * estimate->standard_errors.gradient_sqr_norm);
  CHECK(estimate->standard_errors.gradient_sqr_norm < 0.002);
}

TEST_CASE("Iterations that say nothing change nothing") {
  NoiseEstimator estimator;
  const std::vector<PartNorm> one{{32, 1.0}};
  const std::vector<PartNorm> overflowed{{16, std::numeric_limits<double>::quiet_NaN()}, {16, 1.0}};

  CHECK_FALSE(estimator.add({one, 1.0, 0.1}));
  CHECK_FALSE(estimator.add({overflowed, 1.0, 0.1}));

  CHECK_FALSE(estimator.estimate());
  CHECK(estimator.phase() == 0);
}

TEST_CASE("A drifting mean does not spoil the error: differences of batch means cancel it") {
  // G falls by a factor of e over 1000 iterations, as early in a job; the reported error of the
  // average must stay near that of a stationary job.
  const auto error_with_drift = [](double drift) {
    NoiseEstimator estimator;
    for (int i = 0; i < 1000; ++i) {
      KnownGradients problem(static_cast<std::uint64_t>(i), kDimensions,
                             10.0 * std::exp(-drift * i), kTrace);
      problem.draw({32, 32, 32, 32});
      estimator.add({problem.parts, problem.batch_sqr_norm, 0.1});
    }
    return estimator.estimate()->standard_errors.gradient_sqr_norm;
  };
  CHECK(error_with_drift(0.001) < 1.1 * error_with_drift(0.0));
}

TEST_CASE("Where one iteration in a hundred is measured, intervals still cover the truth") {
  int covered = 0;
  const int jobs = 400;
  for (int job = 0; job < jobs; ++job) {
    NoiseEstimator estimator;
    KnownGradients problem(900 + static_cast<std::uint64_t>(job), kDimensions, kGradient, kTrace);
    for (int i = 0; i < 60; ++i) {
      problem.draw({32.0, 32.0});
      estimator.add({problem.parts, problem.batch_sqr_norm, 0.1, 100});
    }
    const Interval interval = estimator.estimate()->noise_scale.interval;
    covered += interval.low <= 50.0 && 50.0 <= interval.high ? 1 : 0;
  }
  CHECK(covered >= 0.90 * jobs);
  CHECK(covered <= 0.985 * jobs);
}

}  // namespace scavenger::noise
