#include "ps/core/kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <initializer_list>
#include <vector>

#include "runtime/base/random.h"
#include "test/unit/ps/core/random_floats.h"

using namespace scavenger;
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

// All numbers of ranks in one pass, begun and continued, with squares and without.
Traces run_sums(const Kernels& kernels, std::size_t n, std::size_t start) {
  std::vector<std::vector<float>> gradients;
  for (std::uint64_t k = 0; k < kRanksPerPass; ++k) {
    gradients.push_back(random_floats(n + start, k));
  }
  std::vector<float> sum(n + 1, 42.0F);
  Traces traces;
  traces.lanes.assign(kRanksPerPass * kLanes, 0.25);
  for (std::size_t options = 0; options < 4 * kRanksPerPass; ++options) {
    SumBlock block{.ranks = 1 + options / 4, .continued = options % 2 == 1, .n = n};
    block.sum = sum.data();
    for (std::size_t k = 0; k < block.ranks; ++k) {
      block.gradients[k] = gradients[k].data() + start;
      block.shares[k] = 0.3F + 0.1F * static_cast<float>(k);
    }
    block.lanes = options % 4 < 2 ? traces.lanes.data() : nullptr;
    kernels.sum(block);
    append(traces.floats, sum);
  }
  return traces;
}

Traces run_sgd(const Kernels& kernels, std::size_t n, std::size_t start) {
  const auto gradient = random_floats(n + start, 3);
  Traces traces;
  traces.lanes.assign(kLanes, 0.25);
  for (int options = 0; options < 8; ++options) {
    const SgdStep step{.weight_decay = (options & 1) != 0 ? 1e-2F : 0.0F,
                       .momentum = 0.9F,
                       .one_minus_dampening = (options & 4) != 0 ? 0.8F : 1.0F,
                       .minus_learning_rate = -0.1F,
                       .nesterov = (options & 2) != 0};
    auto weights = random_floats(n + 1, 4), momentum = random_floats(n + 1, 5);
    StepBlock block{.gradient = gradient.data() + start,
                    .n = n,
                    .weights = weights.data(),
                    .state = {momentum.data()},
                    .new_weights = weights.data(),
                    .new_state = {momentum.data()},
                    .lanes = (options & 1) != 0 ? traces.lanes.data() : nullptr};
    kernels.plain_sgd(step, block);
    kernels.momentum_sgd(step, block);
    append(traces.floats, weights);
    append(traces.floats, momentum);
  }
  return traces;
}

Traces run_adam(const Kernels& kernels, std::size_t n, std::size_t start) {
  const auto gradient = random_floats(n + start, 6);
  Traces traces;
  traces.lanes.assign(kLanes, 0.25);
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
    kernels.adam(step, {.gradient = gradient.data() + start,
                        .n = n,
                        .weights = weights.data(),
                        .state = {exp_avg.data(), exp_avg_sq.data()},
                        .new_weights = weights.data(),
                        .new_state = {exp_avg.data(), exp_avg_sq.data()},
                        .lanes = traces.lanes.data()});
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
    for (const std::size_t n : std::initializer_list<std::size_t>{0, 1, 7, 15, 16, 17, 31, 64, 511,
                                                                  512, 1000, 2048, 4099}) {
      for (const std::size_t start : std::initializer_list<std::size_t>{0, 1, 3}) {
        INFO(name_of(set) << ", " << n << " floats from " << start);

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
    SumBlock block{.gradients = {values.data()}, .shares = {0.5F}, .ranks = 1, .n = values.size()};
    block.sum = sum.data();
    block.lanes = lanes.data();
    kernels(set).sum(block);

    CHECK(lanes[2] == 25.0);
    CHECK(lanes[1] == 0.0);
    CHECK(sum[kLanes + 2] == 2.0F);
    CHECK(sum[kLanes + 3] == -1.0F);
  }
}

namespace {

Bfloat16 rounded(const Kernels& kernels, std::uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  Bfloat16 result = 0;
  kernels.to_bfloat16(&value, &result, 1);
  return result;
}

// Any 32 bits: normal and tiny numbers, infinities and NaN.
std::vector<float> random_bits(std::size_t n) {
  scavenger::RandomStream random(1, "bits");
  std::vector<float> values(n);
  for (float& value : values)
    value = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits() >> 32));
  return values;
}

}  // namespace

TEST_CASE("bfloat16 is the nearest number of 8 bits, the even one of two") {
  for (const InstructionSet set : supported_instruction_sets()) {
    const Kernels& kernels_of_set = kernels(set);

    CHECK(rounded(kernels_of_set, 0x3F800000) == 0x3F80);  // 1
    CHECK(rounded(kernels_of_set, 0x3F807FFF) == 0x3F80);  // less than half way to the next
    CHECK(rounded(kernels_of_set, 0x3F808000) == 0x3F80);  // half way: the even one is below
    CHECK(rounded(kernels_of_set, 0x3F818000) == 0x3F82);  // and above
    CHECK(rounded(kernels_of_set, 0x3F808001) == 0x3F81);
    CHECK(rounded(kernels_of_set, 0x80000000) == 0x8000);  // -0
    CHECK(rounded(kernels_of_set, 0x7F7FFFFF) == 0x7F80);  // the largest float: infinite
    CHECK(rounded(kernels_of_set, 0xFF800000) == 0xFF80);  // -infinity
    CHECK(rounded(kernels_of_set, 0x7F800001) == 0x7FC0);  // NaN stays one
    CHECK(rounded(kernels_of_set, 0xFFFFFFFF) == 0xFFFF);
  }
}

TEST_CASE("every instruction set rounds to bfloat16 and widens with the same bits") {
  const auto values = random_bits(4099);
  const Kernels& portable = kernels(InstructionSet::kPortable);
  std::vector<Bfloat16> expected(values.size());
  portable.to_bfloat16(values.data(), expected.data(), values.size());
  for (const InstructionSet set : supported_instruction_sets()) {
    for (const std::size_t n : std::initializer_list<std::size_t>{0, 1, 15, 16, 17, 33, 4099}) {
      INFO(name_of(set) << ", " << n << " floats");
      std::vector<Bfloat16> halves(n + 1, 0x1234);
      std::vector<float> wide(n + 1, 42.0F);

      kernels(set).to_bfloat16(values.data(), halves.data(), n);
      kernels(set).from_bfloat16(expected.data(), wide.data(), n);

      CHECK(halves[n] == 0x1234);
      CHECK(wide[n] == 42.0F);
      CHECK(std::equal(halves.begin(), halves.begin() + static_cast<std::ptrdiff_t>(n),
                       expected.begin()));
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(std::bit_cast<std::uint32_t>(wide[i]) == static_cast<std::uint32_t>(expected[i])
                                                             << 16);
    }
  }
}
