#include "ps/core/optimizer.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "test/ps_core/random_floats.h"

using namespace scavenger::ps;
using scavenger::OptimizerConfig;
using scavenger::OptimizerType;

namespace {

struct Parameters {
  explicit Parameters(std::size_t n) : weights(random_floats(n, 1)), state(2) {
    for (auto& vector : state) vector.assign(n, 0.0F);
  }
  StateSpans spans(const Optimizer& optimizer, std::size_t first, std::size_t n) {
    StateSpans result;
    for (std::size_t s = 0; s < optimizer.state_names().size(); ++s) {
      result[s] = std::span(state[s]).subspan(first, n);
    }
    return result;
  }
  bool operator==(const Parameters&) const = default;

  std::vector<float> weights;
  std::vector<std::vector<float>> state;
};

std::vector<OptimizerConfig> all_kinds() {
  std::vector<OptimizerConfig> configs(4);
  configs[1] = {.momentum = 0.9, .dampening = 0.1, .weight_decay = 1e-3, .schedule = {}};
  configs[2] = {.type = OptimizerType::kAdam, .weight_decay = 1e-3, .schedule = {}};
  configs[3] = {.type = OptimizerType::kAdamW, .weight_decay = 1e-2, .schedule = {}};
  return configs;
}

}  // namespace

TEST_CASE("state vectors have the names that checkpoints use") {
  const auto configs = all_kinds();

  CHECK(Optimizer(configs[0]).state_names().empty());
  CHECK(Optimizer(configs[1]).state_names()[0] == "momentum");
  CHECK(Optimizer(configs[2]).state_names()[0] == "exp_avg");
  CHECK(Optimizer(configs[3]).state_names()[1] == "exp_avg_sq");
}

TEST_CASE("the first momentum step is not dampened") {
  const Optimizer optimizer({.momentum = 0.9, .dampening = 0.5, .schedule = {}});
  std::vector<float> weights = {1.0F}, momentum = {0.0F};
  const std::vector<float> gradient = {2.0F};

  optimizer.step(0.25, 1).apply(gradient, weights, {momentum, {}}, best_kernels());
  CHECK(momentum[0] == 2.0F);
  CHECK(weights[0] == 0.5F);

  optimizer.step(0.25, 2).apply(gradient, weights, {momentum, {}}, best_kernels());
  CHECK(momentum[0] == 2.0F * 0.9F + 0.5F * 2.0F);
}

TEST_CASE("stepping range by range in any order gives the bits of stepping all at once") {
  const std::size_t n = 777;
  for (const OptimizerConfig& config : all_kinds()) {
    const Optimizer optimizer(config);
    Parameters whole(n), parts(n);
    for (std::uint64_t step = 1; step <= 3; ++step) {
      const auto gradient = random_floats(n, 10 + step);
      const OptimizerStep optimizer_step = optimizer.step(0.01, step);

      optimizer_step.apply(gradient, whole.weights, whole.spans(optimizer, 0, n), best_kernels());
      for (const auto& [first, size] : {std::pair{500, 277}, {0, 13}, {200, 300}, {13, 187}}) {
        const auto at = static_cast<std::size_t>(first), length = static_cast<std::size_t>(size);
        optimizer_step.apply(std::span(gradient).subspan(at, length),
                             std::span(parts.weights).subspan(at, length),
                             parts.spans(optimizer, at, length), best_kernels());
      }
    }

    CHECK(whole == parts);
  }
}

TEST_CASE("gap floats between tensors stay zero under every optimizer") {
  for (const OptimizerConfig& config : all_kinds()) {
    const Optimizer optimizer(config);
    Parameters parameters(20);
    parameters.weights.assign(20, 0.0F);
    const std::vector<float> gradient(20, 0.0F);

    for (std::uint64_t step = 1; step <= 3; ++step) {
      optimizer.step(0.1, step).apply(gradient, parameters.weights,
                                      parameters.spans(optimizer, 0, 20), best_kernels());
    }

    CHECK(parameters.weights == gradient);
  }
}
