// Invariant 4 at the board of shared memory: whoever is at another iteration changes nothing, and
// every chunk is stepped once, when all ranks have brought it.
#include "ps/shm/chunk_board.h"

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/base/random.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

struct Board {
  explicit Board(std::size_t chunks) : counters(chunks), queue(chunks) {}
  BoardMemory memory;
  std::vector<ChunkCounter> counters;
  std::vector<ReadyPlace> queue;
  ChunkBoard board{memory, counters, queue};
};

void act_out_of_place(ChunkBoard& board, RandomStream& random, std::uint32_t chunks) {
  const std::uint64_t now = board.iteration();
  const std::uint64_t others[] = {now + 1, now + 1 + random.below(1000), random.below(now + 1)};
  const std::uint64_t other = others[random.below(std::size(others))];
  if (other == now) return;
  board.contribute(other, static_cast<std::uint32_t>(random.below(chunks)));
  REQUIRE_FALSE(board.take(other));
  board.finish(other);
}

void iterate(ChunkBoard& board, RandomStream& random, std::uint32_t ranks, std::uint32_t chunks) {
  const std::uint64_t iteration = board.iteration();
  std::vector<std::uint32_t> brought(chunks), stepped(chunks), in_hands;
  const auto order = permutation(random, ranks * chunks);
  std::size_t next = 0;
  while (board.iteration() == iteration) {
    const std::uint64_t what = random.below(4);
    if (what == 0) act_out_of_place(board, random, chunks);
    if (what == 1 && next < order.size()) {
      const std::uint32_t chunk = order[next++] % chunks;
      ++brought[chunk];
      board.contribute(iteration, chunk);
    }
    if (what == 2)
      if (const auto chunk = board.take(iteration)) {
        REQUIRE(brought[*chunk] == ranks);
        REQUIRE(++stepped[*chunk] == 1);
        in_hands.push_back(*chunk);
      }
    if (what == 3 && !in_hands.empty()) {
      in_hands.pop_back();
      board.finish(iteration);
    }
  }
  REQUIRE(board.iteration() == iteration + 1);
  REQUIRE(next == order.size());
  for (const std::uint32_t count : stepped) REQUIRE(count == 1);
}

}  // namespace

TEST_CASE("what comes from another iteration counts for nothing at the board") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "board");
    const auto chunks = static_cast<std::uint32_t>(1 + random.below(6));
    Board at(chunks);
    std::uint64_t iteration = random.below(5);
    for (int membership = 0; membership < 4; ++membership) {
      const auto ranks = static_cast<std::uint32_t>(1 + random.below(4));
      at.board.begin_membership(iteration, ranks);
      for (std::uint64_t left = random.below(5); left > 0; --left)
        iterate(at.board, random, ranks, chunks);
      iteration = at.board.iteration();
    }
  }
}
