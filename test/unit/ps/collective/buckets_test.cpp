#include "ps/collective/buckets.h"

#include <catch2/catch.hpp>

using namespace scavenger;
using namespace scavenger::ps;

namespace {

std::vector<std::uint64_t> sizes_of(const Buckets& buckets) {
  std::vector<std::uint64_t> sizes;
  for (const FlatRange& range : buckets.ranges()) sizes.push_back(range.size);
  return sizes;
}

}  // namespace

TEST_CASE("buckets cover the vector from its end to its start, the first one smaller") {
  const ChunkLayout layout(10 * 64 + 16, 256, 1);  // the last of 11 chunks is short
  const Buckets buckets(layout, {2 * 256, 4 * 256});

  CHECK(sizes_of(buckets) == std::vector<std::uint64_t>{16 + 64, 256, 256, 64});
  std::uint64_t end = layout.flat_size();
  for (const FlatRange& range : buckets.ranges()) {
    CHECK(range.last() == end);
    end = range.first;
  }
  CHECK(end == 0);
}

TEST_CASE("a chunk larger than a bucket is a bucket") {
  CHECK(sizes_of(Buckets(ChunkLayout(256, 256, 1), {64, 64})) ==
        std::vector<std::uint64_t>{64, 64, 64, 64});
}

TEST_CASE("buckets are ready in their order, however chunks come") {
  Buckets buckets(ChunkLayout(4 * 64, 256, 1), {256, 512});
  std::vector<std::uint64_t> ready;
  const auto note = [&](const FlatRange& range) { ready.push_back(range.first); };

  for (int iteration = 0; iteration < 2; ++iteration) {
    buckets.begin_iteration();
    ready.clear();
    buckets.finish_chunk(0, note);
    buckets.finish_chunk(2, note);
    buckets.finish_chunk(1, note);
    CHECK(ready.empty());
    buckets.finish_chunk(3, note);
    CHECK(ready == std::vector<std::uint64_t>{3 * 64, 64, 0});
  }
}
