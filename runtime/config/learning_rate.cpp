#include "runtime/config/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace scavenger {
namespace {

double step_fraction(const ScheduleConfig& schedule, double epochs) {
  double fraction = 1.0;
  for (const double boundary : schedule.boundary_epochs)
    if (boundary <= epochs) fraction *= schedule.factor;
  return fraction;
}

double cosine_fraction(const ScheduleConfig& schedule, double epochs) {
  const double progress = std::min(
      1.0, (epochs - schedule.warmup_epochs) / (schedule.total_epochs - schedule.warmup_epochs));
  const double wave = (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  return schedule.final_fraction + (1.0 - schedule.final_fraction) * wave;
}

double fraction_of_base(const ScheduleConfig& schedule, double epochs) {
  if (epochs < schedule.warmup_epochs) return epochs / schedule.warmup_epochs;
  switch (schedule.type) {
    case ScheduleType::kConstant:
      return 1.0;
    case ScheduleType::kStep:
      return step_fraction(schedule, epochs);
    case ScheduleType::kCosine:
      return cosine_fraction(schedule, epochs);
    case ScheduleType::kInverseSqrt:
      return std::sqrt(schedule.warmup_epochs / epochs);
  }
  return 1.0;
}

// Returns how much larger a step with `ratio` times the samples may be.
double gain(double ratio, double reference, std::optional<double> noise_scale) {
  if (!noise_scale) return std::sqrt(ratio);
  if (std::isinf(*noise_scale)) return ratio;
  return ratio * (reference + *noise_scale) / (ratio * reference + *noise_scale);
}

}  // namespace

double batch_size_factor(const OptimizerConfig& optimizer, std::uint32_t batch_size,
                         std::optional<double> noise_scale) {
  const double ratio = optimizer.reference_batch_size == 0
                           ? 1.0
                           : static_cast<double>(batch_size) / optimizer.reference_batch_size;
  switch (optimizer.batch_size_rule) {
    case BatchSizeRule::kNone:
      return 1.0;
    case BatchSizeRule::kLinear:
      return ratio;
    case BatchSizeRule::kSqrt:
      return std::sqrt(ratio);
    case BatchSizeRule::kAdaScale: {
      const double r = gain(ratio, optimizer.reference_batch_size, noise_scale);
      return optimizer.type == OptimizerType::kSgd ? r : std::sqrt(r);
    }
  }
  __builtin_unreachable();
}

double learning_rate(const OptimizerConfig& optimizer, double epochs) {
  return optimizer.learning_rate * fraction_of_base(optimizer.schedule, epochs);
}

double learning_rate_at(const OptimizerConfig& optimizer, const Membership& membership,
                        std::uint64_t samples_per_epoch, std::uint64_t iteration) {
  const auto position = static_cast<double>(membership.position_at(iteration));
  return membership.rate_factor *
         learning_rate(optimizer, position / static_cast<double>(samples_per_epoch));
}

}  // namespace scavenger
