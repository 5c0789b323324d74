// A look at another size, from which the job is likely to go back: workers that take no part wait,
// and every iteration may be the last one there.
#include <algorithm>
#include <catch2/catch.hpp>

#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

ReshapeWanted size_of(std::uint32_t workers, bool is_look) {
  return {.workers = workers, .batch_size = 10, .reason = "search", .is_look = is_look};
}

// It has looked at one worker for some iterations.
ScriptedJob looking_job(ControllerPlan plan = small_plan()) {
  ScriptedJob job = training_job(std::move(plan));
  job.feed(size_of(1, true));
  job.train_to_boundary();
  job.halted({kWorker0, kWorker1, kShard0});
  job.all_ready();
  for (int i = 0; i < 3; ++i) job.iterate();
  return job;
}

// What the controller is told of one that waits.
Lines halted_behind(ScriptedJob& job, const ProcessName& process) {
  return job.feed(ProcessHalted{process, 1, true});
}

}  // namespace

TEST_CASE("who takes no part in a look waits, and is there when the job goes back") {
  ScriptedJob job = training_job();
  CHECK(job.feed(size_of(1, true)).empty());
  CHECK(job.train_to_boundary() == Lines{"halt worker 0, worker 1 and shard 0"});
  CHECK(job.halted({kWorker0, kWorker1, kShard0}) == Lines{"configure shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0});
  job.all_ready();
  CHECK(job.controller().is_at_look());

  CHECK(job.feed(size_of(2, false)).empty());
  CHECK(job.iterate().back() == "halt worker 0, worker 1 and shard 0");
  job.halted({kWorker0, kShard0});
  CHECK(halted_behind(job, kWorker1) == Lines{"configure shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0, 1});
  CHECK(job.controller().membership().first_iteration == job.done());
  CHECK_FALSE(job.controller().is_at_look());
  CHECK(job.all_ready().front().starts_with("grant"));
}

TEST_CASE("in a look one iteration is granted after the other, unless they are quick") {
  ScriptedJob job = training_job();
  job.feed(size_of(1, true));
  CHECK_FALSE(job.controller().is_at_look());  // it is still where it was
  job.train_to_boundary();
  job.halted({kWorker0, kWorker1, kShard0});
  job.all_ready();
  CHECK(job.granted() == job.done() + 1);
  job.iterate();  // a tenth of a second
  CHECK(job.granted() == job.done() + 1);
  job.feed(size_of(1, false));
  job.iterate();
  CHECK(job.granted() > job.done() + 1);
}

TEST_CASE("where the job stays at what it looked at, those who waited are let go at once") {
  ScriptedJob job = looking_job();
  CHECK(job.feed(size_of(1, false)) == Lines{"release worker 1"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0});
  CHECK_FALSE(job.controller().is_look());
}

TEST_CASE("while all halt, those who wait are let go with the next membership") {
  ScriptedJob job = looking_job();
  job.lose(kShard0);
  CHECK(job.feed(size_of(1, false)).empty());
  job.feed(ProcessJoined{kShard0});
  job.halted({kWorker0});
  halted_behind(job, kWorker1);
  job.feed(CheckpointFound{});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0});
  CHECK(job.controller().wanted_workers() == 1);
}

TEST_CASE("one who waits and is lost is missed when the job goes back, and not before") {
  ScriptedJob job = looking_job();
  CHECK(job.lose(kWorker1).empty());
  CHECK(job.feed(size_of(2, false)) == Lines{"start worker 1"});
}

TEST_CASE("one who waits takes the place of one that is lost") {
  ScriptedJob job = looking_job();
  job.lose(kWorker0);
  job.halted({kShard0});
  halted_behind(job, kWorker1);
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1});
  CHECK(job.controller().membership().first_iteration == job.done());
}

TEST_CASE("what one who waits holds is too old to go on from") {
  ControllerPlan plan = small_plan();
  plan.shards = 0;
  plan.state_home = StateHome::kWorkers;
  ScriptedJob job = training_job(plan);
  job.feed(size_of(1, true));
  job.train_to_boundary();
  job.halted({kWorker0, kWorker1});
  job.all_ready();
  job.iterate();
  job.lose(kWorker0);
  CHECK(halted_behind(job, kWorker1) == Lines{"find checkpoint"});
}

TEST_CASE("who leaves takes no part in waiting") {
  ScriptedJob job = training_job();
  job.feed(size_of(1, true));
  job.feed(ProcessLeaving{kWorker1, "preempted"});
  job.train_to_boundary();
  CHECK(job.halted({kWorker0, kWorker1, kShard0}) == Lines{"release worker 1", "configure shards"});
}
