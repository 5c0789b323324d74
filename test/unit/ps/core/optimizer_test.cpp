#include "ps/core/optimizer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "ps/core/float_buffer.h"
#include "test/unit/ps/core/random_floats.h"

using namespace scavenger::ps;
using scavenger::OptimizerConfig;
using scavenger::OptimizerType;

namespace {

struct Parameters {
  explicit Parameters(std::size_t n) : weights(random_floats(n, 1)), state(2) {
    for (auto& vector : state) vector.assign(n, 0.0F);
  }
  Version version(const Optimizer& optimizer) {
    Version result{.weights = weights, .state = {}};
    for (std::size_t s = 0; s < optimizer.state_names().size(); ++s) result.state[s] = state[s];
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
  const Version version{weights, {momentum, {}}};

  optimizer.step(0.25, 1).apply(gradient, version, version, best_kernels());
  CHECK(momentum[0] == 2.0F);
  CHECK(weights[0] == 0.5F);

  optimizer.step(0.25, 2).apply(gradient, version, version, best_kernels());
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

      const Version of_whole = whole.version(optimizer), of_parts = parts.version(optimizer);
      optimizer_step.apply(gradient, of_whole, of_whole, best_kernels());
      for (const auto& [first, size] : {std::pair{500, 277}, {0, 13}, {200, 300}, {13, 187}}) {
        const auto at = static_cast<std::size_t>(first), length = static_cast<std::size_t>(size);
        const Version part = of_parts.part(at, length);
        optimizer_step.apply(std::span(gradient).subspan(at, length), part, part, best_kernels());
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
    const Version version = parameters.version(optimizer);

    for (std::uint64_t step = 1; step <= 3; ++step)
      optimizer.step(0.1, step).apply(gradient, version, version, best_kernels());

    CHECK(parameters.weights == gradient);
  }
}

TEST_CASE("a step into another version gives the bits of a step in place, streamed or not") {
  const std::size_t n = 16 * 61 + 5;
  for (const OptimizerConfig& config : all_kinds()) {
    const Optimizer optimizer(config);
    const auto gradient = random_floats(n, 10);
    const OptimizerStep step = optimizer.step(0.01, 1);
    Parameters in_place(n), source(n);
    FloatBuffer buffers[3] = {FloatBuffer(n), FloatBuffer(n), FloatBuffer(n)};
    Version target{.weights = buffers[0].span(), .state = {}};
    for (std::size_t s = 0; s < optimizer.state_names().size(); ++s)
      target.state[s] = buffers[1 + s].span();

    step.apply(gradient, in_place.version(optimizer), in_place.version(optimizer), best_kernels());
    for (const bool streaming : {false, true}) {
      std::ranges::fill(target.weights, 7.0F);
      step.apply(gradient, source.version(optimizer), target, best_kernels(), nullptr, streaming);

      CHECK(std::ranges::equal(target.weights, in_place.weights));
      for (std::size_t s = 0; s < optimizer.state_names().size(); ++s)
        CHECK(std::ranges::equal(target.state[s], in_place.state[s]));
    }
    CHECK(source == Parameters(n));
  }
}
