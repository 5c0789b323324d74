#include "ps/star/rank_sums.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/random.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

FloatBuffer part_of(const std::vector<float>& values) {
  FloatBuffer part(values.size());
  std::ranges::copy(values, part.span().begin());
  return part;
}

std::vector<float> values_of(const RankSums::Sum& sum) {
  return {sum->span().begin(), sum->span().end()};
}

}  // namespace

TEST_CASE("a sum is made in the order of ranks, whoever comes first") {
  // In floats, (2^25 + 1) - 2^25 is 0, and (2^25 - 2^25) + 1 is 1.
  const std::vector<std::vector<float>> parts = {{33554432.0F}, {1.0F}, {-33554432.0F}};
  std::vector<std::uint32_t> order = {0, 1, 2};
  do {
    RankSums sums(3);
    RankSums::Sum sum;
    for (const std::uint32_t rank : order) {
      CHECK(!sum);
      sum = sums.bring(rank, part_of(parts[rank]));
    }
    REQUIRE(sum);
    CHECK(values_of(sum) == std::vector<float>{0.0F});
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("rounds end in their order, though ranks run ahead") {
  constexpr std::uint32_t kRanks = 4;
  constexpr std::uint64_t kRounds = 50;
  RankSums sums(kRanks);
  RandomStream random(1, "arrivals");
  std::vector<float> brought(kRanks, 0.0F);
  std::vector<float> found;
  while (found.size() < kRounds) {
    const auto rank = static_cast<std::uint32_t>(random.below(kRanks));
    if (brought[rank] == static_cast<float>(kRounds)) continue;
    brought[rank] += 1.0F;
    const auto sum = sums.bring(rank, part_of({brought[rank], 1.0F}));
    if (!sum) continue;
    CHECK(values_of(sum)[1] == static_cast<float>(kRanks));
    found.push_back(values_of(sum)[0]);
    CHECK(found.back() == static_cast<float>(kRanks * found.size()));
  }
}

TEST_CASE("an empty part counts as zeros, and a round of nothing has an empty sum") {
  RankSums sums(3);
  sums.bring(0, {});
  sums.bring(2, {});
  CHECK(values_of(sums.bring(1, part_of({5.0F, -0.0F}))) == std::vector<float>{5.0F, -0.0F});
  sums.bring(0, {});
  sums.bring(1, {});
  CHECK(sums.bring(2, {})->size() == 0);
}

TEST_CASE("parts of different sizes, and a rank that is far ahead, are refused") {
  RankSums sums(2);
  sums.bring(0, part_of({1.0F, 2.0F}));
  CHECK_THROWS_AS(sums.bring(1, part_of({1.0F})), ProtocolError);
  RankSums waiting(2);
  const auto flood = [&] {
    for (std::uint32_t i = 0; i <= 1u << 16; ++i) waiting.bring(0, {});
  };
  CHECK_THROWS_AS(flood(), ProtocolError);
}
