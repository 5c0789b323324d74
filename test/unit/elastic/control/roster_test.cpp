#include "elastic/control/roster.h"

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/base/random.h"

namespace scavenger::elastic {
namespace {

constexpr std::uint32_t kWorkers = 5, kShards = 2;

// Does anything that a controller may do to one process of the roster.
void do_something(Roster& roster, const ProcessName& name, RandomStream& random, double now) {
  if (!roster.knows(name)) return roster.start(name, now);
  switch (random.below(12)) {
    case 0:
      return roster.start(name, now);
    case 1:
      return roster.run(name, now);
    case 2:
      return roster.settle(name);
    case 3:
      return (void)roster.lose(name, random.below(2) == 0);
    case 4:
      return roster.refuse(name);
    case 5:
      return roster.give_up(name);
    case 6:
      return roster.defer(name, now, 1.0);
    case 7:
      return roster.release(name);
    case 8:
      return roster.leave(name);
    case 9:
      return roster.forget(name);
    case 10:
      roster.ask_to_halt(name);
      return (void)(random.below(2) == 0 && roster.halted({name, 7, true}));
    default:
      return roster.join(name);
  }
}

std::vector<ProcessName> all_names() {
  std::vector<ProcessName> names;
  for (std::uint32_t i = 0; i < kWorkers; ++i) names.push_back({Role::kWorker, i});
  for (std::uint32_t i = 0; i < kShards; ++i) names.push_back({Role::kShard, i});
  return names;
}

void check_counts(const Roster& roster) {
  std::size_t starting = 0, deferred = 0, absent_shards = 0;
  for (const ProcessName& name : all_names()) {
    if (!roster.knows(name)) continue;
    starting += roster.is_starting(name);
    deferred += roster.is_deferred(name);
    absent_shards += name.role == Role::kShard && !roster.has_joined(name);
  }
  CHECK(roster.starting_count() == starting);
  CHECK(roster.deferred_count() == deferred);
  CHECK(roster.joined_worker_count() == roster.joined_workers().size());
  CHECK(roster.staying_worker_count() == roster.staying_workers().size());
  CHECK(roster.all_shards_joined() == (absent_shards == 0));
  CHECK(roster.is_any_halting() == !roster.halting().empty());
}

}  // namespace

TEST_CASE("Whatever happens to the processes, as many are counted as there are") {
  RandomStream random(1, "roster");
  for (int run = 0; run < 20; ++run) {
    Roster roster(kWorkers, kShards, 0.0);
    check_counts(roster);
    for (double now = 1.0; now < 100.0; ++now) {
      const auto names = all_names();
      do_something(roster, names[random.below(names.size())], random, now);
      check_counts(roster);
    }
  }
}

TEST_CASE("The least index that no worker has is found from where the search begins") {
  Roster roster(3, 1, 0.0);
  CHECK(roster.free_worker_index(0) == 3);
  roster.forget({Role::kWorker, 1});
  CHECK(roster.free_worker_index(0) == 1);
  CHECK(roster.free_worker_index(2) == 3);
  CHECK(roster.free_worker_index(9) == 9);
}

TEST_CASE("A process that is deferred is neither starting nor there") {
  Roster roster(1, 1, 0.0);
  const ProcessName worker{Role::kWorker, 0};
  CHECK(roster.is_starting(worker));
  roster.refuse(worker);
  roster.defer(worker, 5.0, 10.0);
  CHECK(roster.is_deferred(worker));
  CHECK_FALSE(roster.is_starting(worker));
  CHECK(roster.deferred_until(14.0).empty());
  CHECK(roster.deferred_until(15.0).size() == 1);
  CHECK(roster.expects(worker));
}

}  // namespace scavenger::elastic
