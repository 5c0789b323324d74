#include "runtime/data/length_buckets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "runtime/data/sample_order.h"

namespace scavenger {
namespace {

constexpr std::uint32_t kSamples = 1000;

std::uint32_t length(std::uint32_t index) {
  return (index * 7919U) % 40U;
}

// The difference of the longest and the shortest of the stream's samples at [first, first + size).
std::uint32_t spread(SampleOrder& order, std::uint64_t first, std::uint32_t size) {
  std::uint32_t shortest = UINT32_MAX, longest = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    shortest = std::min(shortest, length(order.at(first + i).index));
    longest = std::max(longest, length(order.at(first + i).index));
  }
  return longest - shortest;
}

TEST_CASE("Every epoch still has every sample once") {
  SampleOrder order(5, kSamples, {.size = 16, .window = 160}, length);

  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int> seen(kSamples, 0);
    for (std::uint64_t p = 0; p < kSamples; ++p) {
      const SampleDraw draw = order.at(epoch * kSamples + p);
      CHECK(draw.epoch == epoch);
      ++seen[draw.index];
    }
    CHECK(std::ranges::all_of(seen, [](int count) { return count == 1; }));
  }
}

TEST_CASE("Batches have samples of similar length, in later epochs as well") {
  SampleOrder order(5, kSamples, {.size = 16, .window = 320}, length);
  int wide = 0;

  // 1000 is no multiple of 16, so later epochs begin within a bucket.
  for (std::uint64_t batch = 0; batch < 3 * kSamples / 16; ++batch)
    wide += spread(order, batch * 16, 16) > 4;

  // Few: where an epoch ends and the next begins, samples that fill no bucket are left as they are,
  // and its last window is smaller.
  CHECK(wide <= 4 * 3);
}

TEST_CASE("Buckets of a window come in random order, and samples within them") {
  SampleOrder order(5, kSamples, {.size = 16, .window = 320}, length);
  std::vector<std::uint32_t> firsts, within;
  for (std::uint64_t bucket = 0; bucket < 20; ++bucket)
    firsts.push_back(length(order.at(bucket * 16).index));
  for (std::uint64_t p = 0; p < 320; ++p) within.push_back(order.at(p).index);

  CHECK_FALSE(std::ranges::is_sorted(firsts));
  int ascents = 0;
  for (std::size_t i = 1; i < within.size(); ++i) ascents += within[i] > within[i - 1];
  CHECK(ascents > 100);
  CHECK(ascents < 220);
}

TEST_CASE("The order follows from seed, epoch and lengths, and nothing that was asked before") {
  SampleOrder forwards(5, kSamples, {.size = 16, .window = 320}, length);
  SampleOrder backwards(5, kSamples, {.size = 16, .window = 320}, length);
  SampleOrder other(6, kSamples, {.size = 16, .window = 320}, length);
  std::vector<std::uint32_t> a, b, c;
  for (std::uint64_t p = 0; p < 2 * kSamples; ++p) a.push_back(forwards.at(p).index);
  for (std::uint64_t p = 2 * kSamples; p-- > 0;) b.push_back(backwards.at(p).index);
  std::ranges::reverse(b);
  for (std::uint64_t p = 0; p < 2 * kSamples; ++p) c.push_back(other.at(p).index);

  CHECK(a == b);
  CHECK(a != c);
}

TEST_CASE("Buckets of one sample change nothing, and data sets smaller than one stay random") {
  SampleOrder plain(5, kSamples), ones(5, kSamples, {.size = 1, .window = 10}, length);
  SampleOrder few(5, 10), few_in_buckets(5, 10, {.size = 16, .window = 160}, length);

  for (std::uint64_t p = 0; p < kSamples; ++p) REQUIRE(plain.at(p) == ones.at(p));
  for (std::uint64_t p = 0; p < 40; ++p) REQUIRE(few.at(p) == few_in_buckets.at(p));
}

}  // namespace
}  // namespace scavenger
