#include "ps/shm/chunk_board.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "runtime/base/random.h"

using namespace scavenger::ps;

namespace {

struct Board {
  explicit Board(std::size_t chunks) : counters(chunks), queue(chunks) {}
  BoardMemory memory;
  std::vector<ChunkCounter> counters;
  std::vector<ReadyPlace> queue;
  ChunkBoard board{memory, counters, queue};
};

}  // namespace

TEST_CASE("a chunk can be taken once, when its last rank has contributed") {
  Board at(3);
  at.board.begin_membership(5, 2);

  at.board.contribute(5, 1);
  CHECK_FALSE(at.board.take(5));
  at.board.contribute(5, 1);

  CHECK(at.board.waiting_chunks() == 1);
  CHECK(at.board.take(5) == 1U);
  CHECK_FALSE(at.board.take(5));
}

TEST_CASE("an iteration is done when all its chunks have been stepped, and the next can begin") {
  Board at(2);
  at.board.begin_membership(0, 1);

  for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
    for (const std::uint32_t chunk : {1U, 0U}) {
      at.board.contribute(iteration, chunk);
      CHECK(at.board.take(iteration) == chunk);
      CHECK(at.board.iteration() == iteration);
      at.board.finish(iteration);
    }
    CHECK(at.board.iteration() == iteration + 1);
  }
}

TEST_CASE("a chunk whose step was noted can be read before the iteration is done") {
  Board at(2);
  at.board.begin_membership(3, 1);
  for (std::uint64_t iteration = 3; iteration < 5; ++iteration) {
    at.board.contribute(iteration, 1);
    at.board.contribute(iteration, 0);
    const std::uint32_t first = at.board.take(iteration).value();
    CHECK_FALSE(at.board.is_stepped(iteration, first));
    at.board.note_stepped(iteration + 1, first);  // another iteration than the board's
    CHECK_FALSE(at.board.is_stepped(iteration, first));
    at.board.note_stepped(iteration, first);
    at.board.finish(iteration);
    CHECK(at.board.is_stepped(iteration, first));
    CHECK_FALSE(at.board.is_stepped(iteration, 1 - first));
    at.board.note_stepped(iteration, at.board.take(iteration).value());
    at.board.finish(iteration);
    CHECK(at.board.is_stepped(iteration, 0));
    CHECK(at.board.iteration() == iteration + 1);
  }
  at.board.begin_membership(3, 1);
  CHECK_FALSE(at.board.is_stepped(3, 0));
}

TEST_CASE("a new membership forgets what was brought, taken and stepped of the iteration") {
  Board at(3);
  at.board.begin_membership(0, 2);
  for (const std::uint32_t chunk : {0U, 0U, 2U, 2U, 1U}) at.board.contribute(0, chunk);
  at.board.take(0);
  at.board.take(0);
  at.board.finish(0);

  at.board.begin_membership(0, 1);

  CHECK_FALSE(at.board.take(0));
  for (const std::uint32_t chunk : {2U, 0U, 1U}) at.board.contribute(0, chunk);
  std::set<std::uint32_t> taken;
  while (const auto chunk = at.board.take(0)) {
    taken.insert(*chunk);
    at.board.finish(0);
  }
  CHECK(taken == std::set<std::uint32_t>{0, 1, 2});
  CHECK(at.board.iteration() == 1);
}

TEST_CASE("whoever is at another iteration than the board changes nothing") {
  Board at(2);
  at.board.begin_membership(5, 1);
  for (std::uint64_t iteration = 5; iteration < 7; ++iteration) {
    at.board.contribute(iteration, 0);
    for (const std::uint64_t other : {iteration - 1, iteration + 1, std::uint64_t{0}, UINT64_MAX}) {
      at.board.contribute(other, 1);
      CHECK_FALSE(at.board.take(other));
      at.board.finish(other);
    }
    CHECK(at.board.waiting_chunks() == 1);
    CHECK(at.board.iteration() == iteration);
    at.board.contribute(iteration, 1);
    while (at.board.take(iteration)) at.board.finish(iteration);
    CHECK(at.board.iteration() == iteration + 1);
  }
}

TEST_CASE("many ranks at once: every chunk of every iteration is stepped by exactly one of them") {
  constexpr std::uint32_t kRanks = 4, kChunks = 7;
  constexpr std::uint64_t kIterations = 300;
  Board at(kChunks);
  at.board.begin_membership(0, kRanks);
  std::vector<std::uint64_t> steps(kChunks);  // not atomic: who takes a chunk owns it
  std::vector<std::thread> threads;

  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      scavenger::RandomStream random(1, "order", {rank});
      for (std::uint64_t iteration = 0; iteration < kIterations; ++iteration) {
        for (const std::uint32_t chunk : scavenger::permutation(random, kChunks))
          at.board.contribute(iteration, chunk);
        while (at.board.iteration() == iteration) {
          if (const auto chunk = at.board.take(iteration)) {
            ++steps[*chunk];
            at.board.finish(iteration);
          } else {
            at.board.sleep_unless(
                [&] { return at.board.iteration() > iteration || at.board.waiting_chunks() > 0; },
                0.01);
          }
        }
      }
    });
  for (std::thread& thread : threads) thread.join();

  CHECK(at.board.iteration() == kIterations);
  for (const std::uint64_t count : steps) CHECK(count == kIterations);
}

TEST_CASE(
    "who sleeps is woken by the end of the iteration, and does not sleep through earlier news") {
  Board at(1);
  at.board.begin_membership(0, 1);
  const auto done = [&] { return at.board.iteration() > 0; };
  std::thread sleeper([&] {
    while (!done()) at.board.sleep_unless(done, 100.0);
  });
  while (at.memory.sleepers == 0) std::this_thread::yield();

  at.board.contribute(0, 0);
  at.board.take(0);
  at.board.finish(0);
  sleeper.join();

  at.board.sleep_unless(done, 100.0);
  SUCCEED("it came back");
}
