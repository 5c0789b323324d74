#include "runtime/collective/group_collective.h"

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <random>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/collective/nccl_link.h"
#include "test/unit/runtime/collective/fake_nccl.h"

using namespace scavenger;

namespace {

const SteadyClock real_time;

// Workers that join groups and add up; each call of theirs runs on a thread of its own.
class Team final {
 public:
  explicit Team(std::size_t size, GroupLimits limits = {}, double finalise_seconds = 1.0) {
    const auto open_store = [world = world](const SyncGroup& group) {
      return std::make_unique<FakeStore>(world, std::to_string(group.membership.epoch));
    };
    for (std::size_t i = 0; i < size; ++i)
      workers.push_back(std::make_unique<GroupCollective>(
          std::make_unique<NcclConnector>(std::make_shared<FakeNccl>(world), open_store, real_time,
                                          finalise_seconds),
          real_time, limits));
  }

  // Whether it succeeded, or the reason why not.
  using Outcome = std::future<std::string>;

  template <typename Do>
  static Outcome start(Do what) {
    return std::async(std::launch::async, [what]() -> std::string {
      try {
        what();
        return "ok";
      } catch (const ConnectionError& error) {
        return error.problem().what;
      }
    });
  }

  Outcome join(std::size_t worker, std::uint32_t rank, std::uint32_t size) {
    SyncGroup group;
    group.membership.epoch = epoch;
    group.membership.shares.assign(size, 1);
    group.rank = rank;
    return start([this, worker, group] { workers[worker]->join(group); });
  }
  std::vector<std::string> join(const std::vector<std::size_t>& members) {
    ++epoch;
    std::vector<Outcome> outcomes;
    for (std::uint32_t rank = 0; rank < members.size(); ++rank)
      outcomes.push_back(join(members[rank], rank, static_cast<std::uint32_t>(members.size())));
    return all(outcomes);
  }
  Outcome sum(std::size_t worker) {
    return start([this, worker] {
      std::vector<float> one(10, 1.0F), two(10, 2.0F);
      GroupCollective& me = *workers[worker];
      try {
        me.begin_sum(one);
        me.begin_sum(two);
        me.finish_sum();
        me.finish_sum();
      } catch (const ConnectionError&) {
        me.leave();
        throw;
      }
      if (two[9] != 2.0F * one[0])
        throw ConnectionError({.what = "a wrong sum", .where = {}, .remedy = {}});
      last_sum = one[0];
    });
  }
  std::vector<std::string> sum(const std::vector<std::size_t>& members) {
    std::vector<Outcome> outcomes;
    for (const std::size_t member : members) outcomes.push_back(sum(member));
    return all(outcomes);
  }
  void interrupt(const std::vector<std::size_t>& members) {
    for (const std::size_t member : members) workers[member]->interrupt();
  }
  void allow(const std::vector<std::size_t>& members) {
    for (const std::size_t member : members) workers[member]->allow();
  }

  // Waits until so many operations were launched at this unique id.
  void wait_for_launches(int id, std::size_t count) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      const std::lock_guard lock(world->mutex);
      std::size_t launched = 0;
      for (const auto& operation : world->groups["id " + std::to_string(id)]->operations)
        launched += operation.values.size();
      if (launched >= count) return;
    }
  }

  static std::vector<std::string> all(std::vector<Outcome>& outcomes) {
    std::vector<std::string> results;
    for (Outcome& outcome : outcomes) results.push_back(outcome.get());
    return results;
  }

  const std::shared_ptr<FakeNcclWorld> world = std::make_shared<FakeNcclWorld>();
  std::vector<std::unique_ptr<GroupCollective>> workers;
  std::uint32_t epoch = 0;
  std::atomic<float> last_sum = 0.0F;
};

std::vector<std::string> good(std::size_t count) {
  return std::vector<std::string>(count, "ok");
}

}  // namespace

TEST_CASE("groups grow and shrink, and use again what they can") {
  Team team(4);
  struct Size {
    std::vector<std::size_t> members;
    int inits, shrinks;  // in all until then
  };
  for (const Size& size : std::vector<Size>{{{0}, 0, 0},
                                            {{0, 1}, 2, 0},
                                            {{0, 1, 2, 3}, 6, 0},
                                            {{0, 1, 2, 3}, 6, 0},  // kept
                                            {{0, 2, 3}, 6, 3},
                                            {{2, 3}, 6, 5},
                                            {{3, 2}, 8, 5},  // in another order
                                            {{2}, 8, 5}}) {
    CAPTURE(size.members);
    CHECK(team.join(size.members) == good(size.members.size()));
    CHECK(team.sum(size.members) == good(size.members.size()));
    CHECK(team.last_sum == static_cast<float>(size.members.size()));
    CHECK(team.world->inits == size.inits);
    CHECK(team.world->shrinks == size.shrinks);
  }
  CHECK(team.world->aborts == 0);
  team.workers.clear();
  CHECK(team.world->aborts == 0);
  CHECK(team.world->destroys == 8 + 5);
  CHECK(team.world->misuse.empty());
}

TEST_CASE("a worker that dies in a sum: the others are interrupted, abort, and go on without it") {
  Team team(3);
  REQUIRE(team.join({0, 1, 2}) == good(3));
  auto first = team.sum(0), second = team.sum(1);
  team.wait_for_launches(1, 4);
  team.interrupt({0, 1});
  CHECK(first.get() == "interrupted");
  CHECK(second.get() == "interrupted");
  CHECK(team.world->aborts == 2);
  team.allow({0, 1});
  CHECK(team.join({0, 1}) == good(2));
  CHECK(team.sum({0, 1}) == good(2));
  CHECK(team.world->misuse.empty());
}

TEST_CASE("without anybody's help the watchdog aborts an operation that takes too long") {
  Team team(2, {.connect_seconds = 20, .operation_seconds = 0.3, .end_seconds = 20});
  REQUIRE(team.join({0, 1}) == good(2));
  CHECK(team.sum(0).get() == "an operation took more than 0 s");
  CHECK(team.world->aborts == 1);
}

TEST_CASE("the watchdog sees an error of the library while the worker is elsewhere") {
  Team team(2);
  REQUIRE(team.join({0, 1}) == good(2));
  {
    const std::lock_guard lock(team.world->mutex);
    team.world->groups["id 1"]->has_failed = true;
  }
  for (int aborts = 0; aborts < 2; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    const std::lock_guard lock(team.world->mutex);
    aborts = team.world->aborts;
  }
  CHECK(team.sum({0, 1}) == std::vector<std::string>(2, "a peer has failed"));
  CHECK(team.join({0, 1}) == good(2));
  CHECK(team.world->misuse.empty());
}

TEST_CASE("a worker that dies before, or in, the making of a group holds nobody up") {
  Team team(3);
  ++team.epoch;
  auto first = team.join(0, 0, 3), second = team.join(1, 1, 3);  // the third never comes
  team.interrupt({0, 1});
  CHECK(first.get() == "interrupted");
  CHECK(second.get() == "interrupted");
  team.allow({0, 1});
  ++team.epoch;
  team.world->stores[std::to_string(team.epoch)]["kept/2"] = "-";  // it came, and died then
  first = team.join(0, 0, 3), second = team.join(1, 1, 3);
  for (int inits = 0; inits < 2; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    const std::lock_guard lock(team.world->mutex);
    inits = team.world->inits;
  }
  team.interrupt({0, 1});
  CHECK(first.get() == "interrupted");
  CHECK(second.get() == "interrupted");
  team.allow({0, 1});
  CHECK(team.join({0, 1}) == good(2));
  CHECK(team.sum({0, 1}) == good(2));
  CHECK(team.world->misuse.empty());
}

TEST_CASE("a communicator that cannot be finalised is aborted") {
  Team team(2, {}, 0.1);
  REQUIRE(team.join({0, 1}) == good(2));
  team.world->finalising_hangs = true;
  CHECK(team.join({0}) == good(1));
  CHECK(team.world->aborts == 1);
}

TEST_CASE("who dies in the making of a smaller group does not keep the others") {
  Team team(3);
  REQUIRE(team.join({0, 1, 2}) == good(3));
  ++team.epoch;
  // Rank 1 of the new group says that it has kept the communicator, and dies before it shrinks it.
  team.world->stores[std::to_string(team.epoch)]["kept/1"] = "epoch-1 0 1 3";
  auto outcome = team.join(0, 0, 2);
  for (int shrinks = 0; shrinks < 1; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    const std::lock_guard lock(team.world->mutex);
    shrinks = team.world->shrinks;
  }
  team.interrupt({0});
  CHECK(outcome.get() == "interrupted");
  team.allow({0});
  CHECK(team.join({0, 2}) == good(2));
  CHECK(team.sum({0, 2}) == good(2));
  CHECK(team.world->misuse.empty());
}

TEST_CASE("an abort that never ends costs the process, not the job") {
  Team team(2, {.connect_seconds = 20, .operation_seconds = 20, .end_seconds = 0.3});
  REQUIRE(team.join({0, 1}) == good(2));
  team.world->aborting_hangs = true;
  auto outcome = team.sum(0);
  team.wait_for_launches(1, 2);
  team.interrupt({0});
  CHECK(outcome.get() == "ending a connection took more than 0 s");
  team.workers.clear();
  {
    const std::lock_guard lock(team.world->mutex);
    team.world->aborting_hangs = false;
  }
  team.world->changed.notify_all();
}

TEST_CASE("interruptions at random instants leave no group unusable") {
  Team team(3);
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    ++team.epoch;
    std::vector<Team::Outcome> outcomes;
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      outcomes.push_back(Team::start([&team, rank, joins = team.join(rank, rank, 3).share()] {
        if (joins.get() == "ok") team.sum(rank).get();
      }));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    for (const std::size_t worker : {random() % 3, random() % 3}) team.interrupt({worker});
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    team.interrupt({0, 1, 2});
    for (auto& outcome : outcomes) outcome.get();
    team.allow({0, 1, 2});
    if (round % 5 != 4) continue;
    REQUIRE(team.join({0, 1, 2}) == good(3));
    REQUIRE(team.sum({0, 1, 2}) == good(3));
  }
  CHECK(team.world->misuse.empty());
}
