#include "ps/core/optimizer.h"

#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::ps {
namespace {

constexpr std::array<std::string_view, 1> kSgdState = {"momentum"};
constexpr std::array<std::string_view, 2> kAdamState = {"exp_avg", "exp_avg_sq"};

// Scalars are computed in double and rounded once, as Python and torch do.
SgdStep sgd_step(const OptimizerConfig& config, double learning_rate, std::uint64_t step_number) {
  return {.weight_decay = static_cast<float>(config.weight_decay),
          .momentum = static_cast<float>(config.momentum),
          .one_minus_dampening = static_cast<float>(1.0 - config.dampening),
          .minus_learning_rate = static_cast<float>(-learning_rate),
          .nesterov = config.nesterov,
          .first = step_number == 1};
}

AdamStep adam_step(const OptimizerConfig& config, double learning_rate, std::uint64_t step_number) {
  const bool decoupled = config.type == OptimizerType::kAdamW;
  const auto t = static_cast<double>(step_number);
  const double bias_correction1 = 1.0 - std::pow(config.beta1, t);
  const double bias_correction2 = 1.0 - std::pow(config.beta2, t);
  const double one_minus_beta1 = 1.0 - config.beta1;
  return {.weight_decay = decoupled ? 0.0F : static_cast<float>(config.weight_decay),
          .weight_scale =
              decoupled ? static_cast<float>(1.0 - learning_rate * config.weight_decay) : 1.0F,
          .beta1 = 1.0F - static_cast<float>(one_minus_beta1),
          .one_minus_beta1 = static_cast<float>(one_minus_beta1),
          .beta2 = static_cast<float>(config.beta2),
          .one_minus_beta2 = static_cast<float>(1.0 - config.beta2),
          .sqrt_bias_correction2 = static_cast<float>(std::sqrt(bias_correction2)),
          .epsilon = static_cast<float>(config.epsilon),
          .minus_step_size = static_cast<float>(-(learning_rate / bias_correction1))};
}

}  // namespace

void OptimizerStep::apply(std::span<const float> gradient, std::span<float> weights,
                          const StateSpans& state, const Kernels& kernels) const {
  const std::size_t n = weights.size();
  SCAVENGER_CHECK(gradient.size() == n);
  if (const auto* adam = std::get_if<AdamStep>(&step_)) {
    SCAVENGER_CHECK(state[0].size() == n && state[1].size() == n);
    kernels.adam(*adam, gradient.data(), n, weights.data(), state[0].data(), state[1].data());
    return;
  }
  const auto& sgd = std::get<SgdStep>(step_);
  if (sgd.momentum == 0.0F) {
    kernels.plain_sgd(sgd, gradient.data(), n, weights.data());
    return;
  }
  SCAVENGER_CHECK(state[0].size() == n);
  kernels.momentum_sgd(sgd, gradient.data(), n, weights.data(), state[0].data());
}

std::span<const std::string_view> Optimizer::state_names() const {
  if (config_.type != OptimizerType::kSgd) return kAdamState;
  if (static_cast<float>(config_.momentum) != 0.0F) return kSgdState;
  return {};
}

OptimizerStep Optimizer::step(double learning_rate, std::uint64_t step_number) const {
  SCAVENGER_CHECK(step_number >= 1);
  return config_.type == OptimizerType::kSgd
             ? OptimizerStep(sgd_step(config_, learning_rate, step_number))
             : OptimizerStep(adam_step(config_, learning_rate, step_number));
}

}  // namespace scavenger::ps
