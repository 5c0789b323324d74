#include "runtime/base/random.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

namespace scavenger {

TEST_CASE("A stream is decided by its whole name") {
  RandomStream a(1, "order", {3});
  RandomStream same(1, "order", {3});
  RandomStream other_seed(2, "order", {3});
  RandomStream other_purpose(1, "augment", {3});
  RandomStream other_key(1, "order", {4});

  const auto first = a.bits();

  CHECK(first == same.bits());
  CHECK(first != other_seed.bits());
  CHECK(first != other_purpose.bits());
  CHECK(first != other_key.bits());
}

TEST_CASE("A stream's values never change between versions, or old runs could not be repeated") {
  RandomStream stream(42, "golden");
  CHECK(stream.bits() == 0xbde03c2f5195ed0fu);
}

TEST_CASE("below() is uniform, also for limits that do not divide 2^64") {
  RandomStream stream(7, "below");
  std::map<std::uint64_t, int> counts;
  for (int i = 0; i < 60000; ++i) ++counts[stream.below(6)];

  REQUIRE(counts.size() == 6);
  for (const auto& [value, count] : counts)
    CHECK(std::abs(count - 10000) < 500);  // 5 standard deviations
}

TEST_CASE("normal() has mean 0 and variance 1") {
  RandomStream stream(7, "normal");
  double sum = 0;
  double squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = stream.normal();
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / n) < 0.016);
  CHECK(std::abs(squares / n - 1.0) < 0.025);
}

TEST_CASE("A permutation holds each number once and is not the identity") {
  RandomStream stream(7, "permutation");
  auto order = permutation(stream, 1000);
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < 1000; ++i) REQUIRE(order[i] == i);
}

}  // namespace scavenger
