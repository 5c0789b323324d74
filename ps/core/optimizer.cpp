#include "ps/core/optimizer.h"

#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::ps {
namespace {

constexpr std::array<std::string_view, 1> kSgdState = {"momentum"};
constexpr std::array<std::string_view, 2> kAdamState = {"exp_avg", "exp_avg_sq"};

// Computes scalars in double and rounds them once, as Python and torch do.
SgdStep sgd_step(const OptimizerConfig& config, double learning_rate, std::uint64_t step_number) {
  return {
      .weight_decay = static_cast<float>(config.weight_decay),
      .momentum = static_cast<float>(config.momentum),
      // In torch, the first momentum is the gradient itself, without dampening.
      .one_minus_dampening = step_number == 1 ? 1.0F : static_cast<float>(1.0 - config.dampening),
      .minus_learning_rate = static_cast<float>(-learning_rate),
      .nesterov = config.nesterov};
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

Version Version::part(std::size_t first, std::size_t size) const {
  Version result{.weights = weights.subspan(first, size), .state = {}};
  for (std::size_t v = 0; v < kMaxStateVectors; ++v)
    if (!state[v].empty()) result.state[v] = state[v].subspan(first, size);
  return result;
}

void OptimizerStep::apply(std::span<const float> gradient, const Version& from, const Version& to,
                          const Kernels& kernels, double* lanes, bool streaming) const {
  const std::size_t n = gradient.size();
  const auto* adam = std::get_if<AdamStep>(&step_);
  const auto* sgd = std::get_if<SgdStep>(&step_);
  const std::size_t vectors = adam != nullptr ? 2 : sgd->momentum != 0.0F ? 1 : 0;
  SCAVENGER_CHECK(from.weights.size() == n && to.weights.size() == n);
  StepBlock block{.gradient = gradient.data(),
                  .n = n,
                  .weights = from.weights.data(),
                  .new_weights = to.weights.data(),
                  .lanes = lanes,
                  .streaming = streaming};
  for (std::size_t v = 0; v < vectors; ++v) {
    SCAVENGER_CHECK(from.state[v].size() == n && to.state[v].size() == n);
    block.state[v] = from.state[v].data();
    block.new_state[v] = to.state[v].data();
  }
  if (adam != nullptr) return kernels.adam(*adam, block);
  (vectors == 1 ? kernels.momentum_sgd : kernels.plain_sgd)(*sgd, block);
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

std::vector<std::string> state_names_of(const OptimizerConfig& config) {
  if (config.type == OptimizerType::kPython) return config.state;
  const auto names = Optimizer(config).state_names();
  return {names.begin(), names.end()};
}

}  // namespace scavenger::ps
