#include "noise/noise_estimator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "noise/noise_identities.h"
#include "runtime/base/check.h"

namespace scavenger::noise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One squared difference says too little about the error for any interval. (Two, weighted
// exponentially, count as slightly less than 2.)
constexpr double kFewestDifferences = 1.9;

// Squared successive differences overlap, so n of them carry about 2n/3 degrees of freedom.
constexpr double kDegreesPerDifference = 2.0 / 3.0;

}  // namespace

Measured gamma_at(const NoiseEstimate& estimate, double workers, double global_batch) {
  const auto gamma = [&](double noise_scale) {
    return gamma_from_noise_scale(noise_scale, workers, global_batch);
  };
  const Measured& scale = estimate.noise_scale;
  return {gamma(scale.value), {gamma(scale.interval.low), gamma(scale.interval.high)}};
}

NoiseEstimator::NoiseEstimator(NoiseOptions options)
    : options_(options), stability_(options.stability) {
  SCAVENGER_CHECK(options.window_iterations > 0.0 && options.batch_mean_iterations > 0);
  SCAVENGER_CHECK(options.window_share > 0.0);
  SCAVENGER_CHECK(options.confidence > 0.0 && options.confidence < 1.0);
  SCAVENGER_CHECK(options.phase_rate_factor > 1.0);
}

bool NoiseEstimator::add(const NoiseIteration& iteration) {
  const auto moments = estimate_moments(iteration.parts, iteration.batch_sqr_norm);
  if (!moments) return false;
  enter_phase(iteration.learning_rate);
  average(*moments, std::max(iteration.spacing, 1U));
  watch_stability(iteration, *moments);
  return true;
}

void NoiseEstimator::average(const GradientMoments& moments, std::uint32_t spacing) {
  Averages& now = averages_;
  now.age += spacing;
  const double decay = std::exp(-static_cast<double>(spacing) / window(spacing));
  now.gradient = decay * now.gradient + moments.gradient_sqr_norm;
  now.trace = decay * now.trace + moments.trace_per_sample;
  now.weight = decay * now.weight + 1.0;
  now.sqr_weight = decay * decay * now.sqr_weight + 1.0;
  ++now.iterations;
  now.batch_sum.gradient_sqr_norm += moments.gradient_sqr_norm;
  now.batch_sum.trace_per_sample += moments.trace_per_sample;
  ++now.in_batch;
  now.batch_length += spacing;
  if (now.batch_length >= options_.batch_mean_iterations) finish_batch();
}

// The longest window has as many batch means if each is of one iteration that was measured.
double NoiseEstimator::window(double spacing) const {
  const double batch = options_.batch_mean_iterations;
  const double most = options_.window_iterations * std::max(1.0, spacing / batch);
  return std::min(most, std::max(2.0 * batch, options_.window_share * averages_.age));
}

void NoiseEstimator::watch_stability(const NoiseIteration& iteration,
                                     const GradientMoments& moments) {
  if (stability_.iterations() == 0) {
    reference_parts_ = 0.0;
    reference_batch_ = 0.0;
    for (const PartNorm& part : iteration.parts) {
      reference_parts_ += part.samples > 0.0 ? 1.0 : 0.0;
      reference_batch_ += part.samples;
    }
  }
  // gamma at one fixed (K, B), whatever the job's are by now: a resize is no instability.
  const double noise = moments.trace_per_sample / reference_batch_;
  stability_.add(moments.gradient_sqr_norm + reference_parts_ * noise,
                 moments.gradient_sqr_norm + noise,
                 std::clamp(iteration.spacing, 1U, options_.batch_mean_iterations));
}

void NoiseEstimator::enter_phase(double learning_rate) {
  const double low = std::min(learning_rate, phase_learning_rate_);
  const double high = std::max(learning_rate, phase_learning_rate_);
  const bool first = phase_ == 0;
  if (!first && high <= low * options_.phase_rate_factor) return;
  ++phase_;
  phase_learning_rate_ = learning_rate;
  averages_ = {};
  stability_.reset();
}

void NoiseEstimator::finish_batch() {
  Averages& now = averages_;
  const double n = now.in_batch;
  const GradientMoments mean{now.batch_sum.gradient_sqr_norm / n,
                             now.batch_sum.trace_per_sample / n};
  if (now.batches > 0) {
    const double gradient = mean.gradient_sqr_norm - now.previous_batch_mean.gradient_sqr_norm;
    const double trace = mean.trace_per_sample - now.previous_batch_mean.trace_per_sample;
    // The difference of means over n and m iterations has 1/n + 1/m of one iteration's variance.
    const double scale = 1.0 / (1.0 / n + 1.0 / now.previous_batch);
    const double decay =
        std::exp(-static_cast<double>(now.batch_length) / window(now.batch_length));
    BatchMeanErrors& errors = now.errors;
    errors.gradient_gradient = decay * errors.gradient_gradient + scale * gradient * gradient;
    errors.trace_trace = decay * errors.trace_trace + scale * trace * trace;
    errors.gradient_trace = decay * errors.gradient_trace + scale * gradient * trace;
    errors.weight = decay * errors.weight + 1.0;
    errors.sqr_weight = decay * decay * errors.sqr_weight + 1.0;
  }
  now.previous_batch_mean = mean;
  now.previous_batch = now.in_batch;
  now.batch_sum = {};
  now.in_batch = 0;
  now.batch_length = 0;
  ++now.batches;
}

RatioEstimate NoiseEstimator::averaged_ratio() const {
  const Averages& now = averages_;
  // Var(mean) = (sum of squared weights) x (variance of one iteration, correlation included).
  const double share = now.sqr_weight / (now.weight * now.weight);
  const double scale = now.errors.weight > 0.0 ? share / now.errors.weight : kInfinity;
  return {.numerator = now.trace / now.weight,
          .denominator = now.gradient / now.weight,
          .numerator_variance = scale * now.errors.trace_trace,
          .denominator_variance = scale * now.errors.gradient_gradient,
          .covariance = scale * now.errors.gradient_trace};
}

double NoiseEstimator::degrees_of_freedom() const {
  const BatchMeanErrors& errors = averages_.errors;
  if (errors.sqr_weight <= 0.0) return 0.0;
  const double differences = errors.weight * errors.weight / errors.sqr_weight;
  return differences < kFewestDifferences ? 0.0 : kDegreesPerDifference * differences;
}

std::optional<NoiseEstimate> NoiseEstimator::estimate() const {
  if (averages_.iterations == 0) return std::nullopt;
  const RatioEstimate ratio = averaged_ratio();
  const double degrees = degrees_of_freedom();
  NoiseEstimate result;
  result.moments = {ratio.denominator, ratio.numerator};
  result.standard_errors = {std::sqrt(ratio.denominator_variance),
                            std::sqrt(ratio.numerator_variance)};
  if (degrees == 0.0) result.standard_errors = {kInfinity, kInfinity};
  result.noise_scale.value =
      ratio.denominator > 0.0 ? std::max(ratio.numerator, 0.0) / ratio.denominator : kInfinity;
  result.noise_scale.interval =
      degrees > 0.0 ? positive_ratio_interval(ratio, student_quantile(options_.confidence, degrees))
                    : Interval{0.0, kInfinity};
  result.stable = stability_.stable();
  result.iterations = averages_.iterations;
  return result;
}

// The one list of what state() and restore() hold, in its order.
template <typename Self, typename Visit>
void NoiseEstimator::visit_state(Self& self, const Visit& visit) {
  auto& now = self.averages_;
  visit(self.phase_, self.phase_learning_rate_, self.reference_parts_, self.reference_batch_,
        now.gradient, now.trace, now.weight, now.sqr_weight, now.iterations, now.age,
        now.batch_sum.gradient_sqr_norm, now.batch_sum.trace_per_sample,
        now.previous_batch_mean.gradient_sqr_norm, now.previous_batch_mean.trace_per_sample,
        now.in_batch, now.batch_length, now.previous_batch, now.batches,
        now.errors.gradient_gradient, now.errors.trace_trace, now.errors.gradient_trace,
        now.errors.weight, now.errors.sqr_weight);
}

std::array<double, NoiseEstimator::kStateNumbers> NoiseEstimator::state() const {
  std::array<double, kStateNumbers> numbers{};
  std::size_t next = 0;
  const auto keep = [&](const auto&... value) {
    ((numbers.at(next++) = static_cast<double>(value)), ...);
  };
  visit_state(*this, keep);
  const StabilityDetector::State& stability = stability_.state();
  keep(stability.numerator, stability.denominator, stability.previous_ratio, stability.has_previous,
       stability.stable, stability.iterations, stability.in_window);
  SCAVENGER_CHECK(next == numbers.size());
  return numbers;
}

void NoiseEstimator::restore(const std::array<double, kStateNumbers>& state) {
  std::size_t next = 0;
  const auto take_one = [&]<typename T>(T& value) {
    const double number = state.at(next++);
    if constexpr (std::is_floating_point_v<T>)
      value = number;
    else  // a damaged one is none
      value = number > 0.0 && number < 0x1p53 ? static_cast<T>(static_cast<std::uint64_t>(number))
                                              : T{};
  };
  const auto take = [&](auto&... value) { (take_one(value), ...); };
  visit_state(*this, take);
  StabilityDetector::State stability;
  take(stability.numerator, stability.denominator, stability.previous_ratio, stability.has_previous,
       stability.stable, stability.iterations, stability.in_window);
  stability_.restore(stability);
}

}  // namespace scavenger::noise
