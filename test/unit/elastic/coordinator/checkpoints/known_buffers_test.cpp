#include "elastic/coordinator/checkpoints/known_buffers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace scavenger::elastic {
namespace {

using Values = std::vector<float>;

}  // namespace

TEST_CASE("What is known of buffers does not depend on who halts first") {
  // Worker 0 is gone; 1 and 2 stand at the same iteration, 3 has not finished it.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> answers = {{1, 20}, {2, 20}, {3, 19}};
  do {
    KnownBuffers known;
    for (const auto& [worker, iteration] : answers)
      known.offer(worker, iteration, Values{static_cast<float>(worker)});
    CHECK(known.values() == Values{1.0F});
  } while (std::ranges::next_permutation(answers).found);
}

TEST_CASE("A worker that is further has the buffers that go on") {
  KnownBuffers known;
  known.offer(0, 19, Values{0.0F});
  known.offer(3, 20, Values{3.0F});
  known.offer(1, 19, Values{1.0F});
  CHECK(known.values() == Values{3.0F});
}

TEST_CASE("Where nobody is left the buffers are those of the last boundary or checkpoint") {
  KnownBuffers known;
  CHECK(known.values().empty());
  known.take(100, Values{7.0F});
  CHECK(known.values() == Values{7.0F});
  known.offer(0, 100, Values{8.0F});  // at the boundary itself all had the same, and go on from it
  CHECK(known.values() == Values{8.0F});
  known.offer(0, 90, Values{9.0F});
  CHECK(known.values() == Values{8.0F});
}

TEST_CASE("After a return to a checkpoint what was known beyond it counts no more") {
  KnownBuffers known;
  known.offer(0, 500, Values{5.0F});
  known.take(100, Values{1.0F});
  known.offer(2, 110, Values{2.0F});
  CHECK(known.values() == Values{2.0F});
}

}  // namespace scavenger::elastic
