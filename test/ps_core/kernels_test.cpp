#include "ps/core/kernels.h"

#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "test/ps_core/random_floats.h"

using namespace scavenger::ps;

namespace {

// What every kernel leaves behind, for one length and start.
struct Traces {
  std::vector<float> floats;
  std::vector<double> lanes;

  bool operator==(const Traces&) const = default;
};

void append(std::vector<float>& all, const std::vector<float>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

Traces run_sums(const Kernels& kernels, std::size_t n, std::size_t start) {
  const auto g0 = random_floats(n + start, 1), g1 = random_floats(n + start, 2);
  std::vector<float> sum(n + 1, 42.0F);
  Traces traces;
  traces.lanes.assign(3 * kLanes, 0.25);
  kernels.set_scaled(g0.data() + start, 0.3F, n, sum.data(), traces.lanes.data());
  kernels.add_scaled(g1.data() + start, 0.7F, n, sum.data(), traces.lanes.data() + kLanes);
  kernels.add_squares(sum.data(), n, traces.lanes.data() + 2 * kLanes);
  kernels.set_scaled(g1.data() + start, 0.1F, n, sum.data(), nullptr);
  kernels.add_scaled(g0.data() + start, 0.9F, n, sum.data(), nullptr);
  append(traces.floats, sum);
  return traces;
}

Traces run_sgd(const Kernels& kernels, std::size_t n, std::size_t start) {
  const auto gradient = random_floats(n + start, 3);
  Traces traces;
  for (int options = 0; options < 16; ++options) {
    const SgdStep step{.weight_decay = (options & 1) != 0 ? 1e-2F : 0.0F,
                       .momentum = 0.9F,
                       .one_minus_dampening = (options & 8) != 0 ? 0.8F : 1.0F,
                       .minus_learning_rate = -0.1F,
                       .nesterov = (options & 2) != 0,
                       .first = (options & 4) != 0};
    auto weights = random_floats(n + 1, 4), momentum = random_floats(n + 1, 5);
    kernels.plain_sgd(step, gradient.data() + start, n, weights.data());
    kernels.momentum_sgd(step, gradient.data() + start, n, weights.data(), momentum.data());
    append(traces.floats, weights);
    append(traces.floats, momentum);
  }
  return traces;
}

Traces run_adam(const Kernels& kernels, std::size_t n, std::size_t start) {
  const auto gradient = random_floats(n + start, 6);
  Traces traces;
  for (int options = 0; options < 4; ++options) {
    const float beta1 = (options & 2) != 0 ? 0.25F : 0.9F;
    const AdamStep step{.weight_decay = (options & 1) != 0 ? 1e-2F : 0.0F,
                        .weight_scale = 0.999F,
                        .beta1 = beta1,
                        .one_minus_beta1 = 1.0F - beta1,
                        .beta2 = 0.999F,
                        .one_minus_beta2 = 1e-3F,
                        .sqrt_bias_correction2 = 0.3F,
                        .epsilon = 1e-8F,
                        .minus_step_size = -1e-2F};
    auto weights = random_floats(n + 1, 7), exp_avg = random_floats(n + 1, 8);
    auto exp_avg_sq = random_floats(n + 1, 9);
    for (float& value : exp_avg_sq) value = value * value;
    kernels.adam(step, gradient.data() + start, n, weights.data(), exp_avg.data(),
                 exp_avg_sq.data());
    append(traces.floats, weights);
    append(traces.floats, exp_avg);
    append(traces.floats, exp_avg_sq);
  }
  return traces;
}

}  // namespace

TEST_CASE("every instruction set of this machine gives the bits of the portable kernels") {
  const Kernels& portable = kernels(InstructionSet::kPortable);
  for (const InstructionSet set : supported_instruction_sets()) {
    const Kernels& kernels_of_set = kernels(set);
    for (const std::size_t n : {0, 1, 7, 15, 16, 17, 31, 64, 1000, 2048, 4099}) {
      for (const std::size_t start : {0, 1, 3}) {
        INFO(name(set) << ", " << n << " floats from " << start);

        CHECK(run_sums(kernels_of_set, n, start) == run_sums(portable, n, start));
        CHECK(run_sgd(kernels_of_set, n, start) == run_sgd(portable, n, start));
        CHECK(run_adam(kernels_of_set, n, start) == run_adam(portable, n, start));
      }
    }
  }
}

TEST_CASE("a square goes to the lane of its place, and nothing is written past the end") {
  std::vector<float> values(kLanes + 3, 0.0F);
  values[2] = 3.0F;
  values[kLanes + 2] = 4.0F;
  std::vector<float> sum(kLanes + 4, -1.0F);

  for (const InstructionSet set : supported_instruction_sets()) {
    std::array<double, kLanes> lanes{};
    kernels(set).set_scaled(values.data(), 0.5F, values.size(), sum.data(), lanes.data());

    CHECK(lanes[2] == 25.0);
    CHECK(lanes[1] == 0.0);
    CHECK(sum[kLanes + 2] == 2.0F);
    CHECK(sum[kLanes + 3] == -1.0F);
  }
}
