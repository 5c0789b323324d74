#include "elastic/rate/rate_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "runtime/base/check.h"
#include "runtime/config/learning_rate.h"

namespace scavenger::elastic {
namespace {

// The noise is known where the factors at the ends of its 95 % interval differ by no more than
// this: how well it has to be known depends on how far B is from what the rate is for.
constexpr double kKnownWithin = 1.25;
// A new factor is worth a new membership where it differs by so much, and not too often.
constexpr double kWorthwhile = 1.1;
constexpr std::uint64_t kFewestIterations = 100;  // from one decision to the next

double distance(double a, double b) {
  return std::abs(std::log(a / b));
}

bool is_known(const OptimizerConfig& optimizer, const noise::NoiseEstimate& estimate,
              std::uint32_t batch_size) {
  const noise::Interval& interval = estimate.noise_scale.interval;
  return distance(batch_size_factor(optimizer, batch_size, interval.high),
                  batch_size_factor(optimizer, batch_size, interval.low)) <= std::log(kKnownWithin);
}

// Of the latest phase of the learning rate that says it: the rate changes the noise, but a phase
// that has just begun knows nothing.
std::optional<double> known_noise_scale(const OptimizerConfig& optimizer, const JobNoise& noise,
                                        std::uint32_t batch_size) {
  const auto present = noise.numbers();
  if (present && is_known(optimizer, present->estimate, batch_size))
    return present->estimate.noise_scale.value;
  for (const NoiseNumbers& ended : std::views::reverse(noise.ended_phases()))
    if (is_known(optimizer, ended.estimate, batch_size)) return ended.estimate.noise_scale.value;
  return std::nullopt;
}

}  // namespace

bool follows_noise(const OptimizerConfig& optimizer, std::uint32_t batch_size) {
  return optimizer.batch_size_rule == BatchSizeRule::kAdaScale &&
         optimizer.reference_batch_size != 0 && optimizer.reference_batch_size != batch_size;
}

fact::RateDecision decide_rate(const OptimizerConfig& optimizer, const RunNumbers& numbers,
                               std::uint32_t batch_size) {
  SCAVENGER_CHECK(follows_noise(optimizer, batch_size));
  const auto noise_scale = known_noise_scale(optimizer, numbers.noise, batch_size);
  return {.iteration = numbers.iterations,
          .batch_size = batch_size,
          .noise_scale = noise_scale.value_or(std::numeric_limits<double>::quiet_NaN()),
          .factor = batch_size_factor(optimizer, batch_size, noise_scale)};
}

std::optional<fact::RateDecision> follow_noise(const OptimizerConfig& optimizer,
                                               const RunNumbers& numbers) {
  if (numbers.phases.empty()) return std::nullopt;
  const fact::Membership& now = numbers.phases.back().membership;
  if (!follows_noise(optimizer, now.batch_size)) return std::nullopt;
  const auto& decisions = numbers.rate_decisions;
  if (decisions.total > 0 &&
      numbers.iterations < decisions.latest.back().fact.iteration + kFewestIterations)
    return std::nullopt;
  const auto present = numbers.noise.numbers();
  if (!present || !is_known(optimizer, present->estimate, now.batch_size)) return std::nullopt;
  const fact::RateDecision decision = decide_rate(optimizer, numbers, now.batch_size);
  if (distance(decision.factor, now.rate_factor) < std::log(kWorthwhile)) return std::nullopt;
  return decision;
}

}  // namespace scavenger::elastic
