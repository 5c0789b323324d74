#include "ps/core/chunk_layout.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/random.h"

using scavenger::ConfigError;
using scavenger::RandomStream;
using scavenger::ps::ChunkLayout;
using scavenger::ps::ChunkRange;

TEST_CASE("chunks are of equal size, the last one shorter") {
  const ChunkLayout layout(100, 128, 2);

  CHECK(layout.chunk_count() == 4);
  CHECK(layout.range(0) == ChunkRange{.first = 0, .size = 32});
  CHECK(layout.range(3) == ChunkRange{.first = 96, .size = 4});
}

TEST_CASE("chunks are dealt to the shards in turn") {
  const ChunkLayout layout(160, 64, 3);

  CHECK(layout.chunks_of(0) == std::vector<std::uint32_t>{0, 3, 6, 9});
  CHECK(layout.chunks_of(2) == std::vector<std::uint32_t>{2, 5, 8});
  CHECK(layout.shard_of(7) == 1);
}

TEST_CASE("chunks are smaller where some shards would get none") {
  CHECK(ChunkLayout(1000, 1 << 20, 1).chunk_count() == 1);
  CHECK(ChunkLayout(1000, 1 << 20, 4).chunk_count() == 4);
  CHECK(ChunkLayout(1000, 1 << 20, 4).range(0).size * sizeof(float) % 64 == 0);
  CHECK(ChunkLayout(100, 1 << 20, 7).chunk_count() == 7);
  CHECK(ChunkLayout(1000, 256, 4).chunk_size() == 64);  // as asked for: there are enough
}

TEST_CASE("for any size, every float is in one chunk and has one place in one shard's storage") {
  RandomStream random(1, "layout");
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t flat_size = 1 + random.below(5000);
    const std::uint64_t chunk_bytes = 64 * (1 + random.below(40));
    const auto chunks = ChunkLayout::count_chunks(flat_size, chunk_bytes);
    const ChunkLayout layout(flat_size, chunk_bytes,
                             static_cast<std::uint32_t>(1 + random.below(chunks)));

    std::uint64_t next = 0;
    for (std::uint32_t chunk = 0; chunk < layout.chunk_count(); ++chunk) {
      CHECK(layout.range(chunk).first == next);
      CHECK(layout.chunk_at(layout.range(chunk).first) == chunk);
      CHECK(layout.chunk_at(layout.range(chunk).last() - 1) == chunk);
      next = layout.range(chunk).last();
    }
    CHECK(next == flat_size);

    std::uint64_t packed_total = 0;
    for (std::uint32_t shard = 0; shard < layout.shard_count(); ++shard) {
      std::uint64_t packed = 0;
      const auto owned = layout.chunks_of(shard);
      for (std::uint32_t i = 0; i < owned.size(); ++i) {
        CHECK(layout.shard_of(owned[i]) == shard);
        CHECK(layout.index_in_shard(owned[i]) == i);
        CHECK(layout.packed_offset(owned[i]) == packed);
        packed += layout.range(owned[i]).size;
      }
      CHECK(layout.packed_size(shard) == packed);
      packed_total += packed;
    }
    CHECK(packed_total == flat_size);
  }
}

TEST_CASE("a layout that cannot be is refused with the place in the configuration") {
  CHECK_THROWS_AS(ChunkLayout(0, 64, 1), ConfigError);
  CHECK_THROWS_AS(ChunkLayout(100, 0, 1), ConfigError);
  CHECK_THROWS_AS(ChunkLayout(100, 100, 1), ConfigError);
  CHECK_THROWS_AS(ChunkLayout(100, 64, 0), ConfigError);
  CHECK_THROWS_AS(ChunkLayout(100, 64, 8), ConfigError);
  CHECK_THROWS_AS(ChunkLayout(std::uint64_t{1} << 40, 64, 1), ConfigError);
  CHECK_NOTHROW(ChunkLayout(100, 64, 7));
}
