#include <catch2/catch.hpp>
#include <thread>

#include "test/unit/ps/collective/collective_job.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

constexpr std::uint64_t kIterations = 4;

std::vector<float> undisturbed() {
  ShardJob server({});
  server.reconfigure(1, {1, 2, 1});
  for (std::uint64_t i = 0; i < kIterations; ++i) server.iterate(i);
  return server.weights();
}

}  // namespace

TEST_CASE("a connection that is lost at any point costs no bit of the result") {
  const std::vector<float> expected = undisturbed();
  bool was_hit = true;
  for (std::uint64_t point = 0; was_hit; ++point) {
    CAPTURE(point);
    CollectiveJob job({});
    for (int i = 0; i < 3; ++i) job.add_worker();
    job.member(point % 3).collective->break_at(point);

    was_hit = !(job.reconfigure({1, 2, 1}) && job.train_until(kIterations));
    if (was_hit) {
      for (std::size_t i = 0; i < 3; ++i)
        CHECK(job.worker(i).problem().empty() == (job.worker(i).held_iteration() == kIterations));
      REQUIRE(job.reconfigure({1, 2, 1}));
      REQUIRE(job.train_until(kIterations));
    }

    for (std::size_t i = 0; i < 3; ++i) CHECK(job.weights(i) == expected);
    REQUIRE(point < 1000);
  }
}

TEST_CASE("who gives up keeps what it had before, also where others hand their state round") {
  CollectiveJob job({});
  job.add_worker();
  job.add_worker();
  REQUIRE(job.reconfigure({1, 1}));
  REQUIRE(job.train_until(2));
  const auto before = job.weights(0);
  job.add_worker();
  job.member(0).collective->break_at(2);  // join, one vector; not the second

  CHECK_FALSE(job.reconfigure({1, 1, 1}));

  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(job.worker(i).held_iteration() == 2);
    CHECK(job.weights(i) == before);
  }
  CHECK(job.worker(2).held_iteration() == std::nullopt);
}

TEST_CASE("an interruption ends what waits, says no problem, and holds until it is allowed again") {
  CollectiveJob job({});
  job.add_worker();
  job.add_worker();
  REQUIRE(job.reconfigure({1, 1}));
  auto stuck = std::async(std::launch::async, [&] { return job.iterate(job.member(0)); });

  job.worker(0).interrupt();

  CHECK_FALSE(stuck.get());
  CHECK(job.worker(0).problem().empty());
  SyncGroup group;
  group.membership = {9, 2, {1, 1}, 0, 0};
  CHECK_FALSE(job.worker(0).join(group, {}));  // at once, though nobody else comes
  REQUIRE(job.reconfigure({1, 1}));
  CHECK(job.train_until(1));
}
