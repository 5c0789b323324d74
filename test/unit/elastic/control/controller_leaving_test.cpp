// A worker whose machine is about to be taken away leaves at the next boundary, and its replacement
// is started at once.
#include <algorithm>
#include <catch2/catch.hpp>

#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

TEST_CASE("who leaves finishes what was granted, and nobody waits for the replacement") {
  ScriptedJob job = training_job();

  CHECK(job.feed(ProcessLeaving{kWorker0, "preempted"}) == Lines{"announce", "start worker 2"});
  CHECK(job.train_to_boundary() == Lines{"halt worker 0, worker 1 and shard 0"});
  CHECK(job.halted({kWorker0, kWorker1, kShard0}) == Lines{"release worker 0", "configure shards"});

  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1});
  CHECK(job.controller().membership().first_iteration == job.done());  // nothing is lost
  CHECK(job.all_ready().front().starts_with("grant"));
  CHECK(job.controller().wanted_workers() == 2);
  job.iterate();
  job.feed(ProcessJoined{kWorker2});
  CHECK(job.train_to_boundary() == Lines{"halt worker 1, worker 2 and shard 0"});
}

TEST_CASE("who says twice that it leaves is replaced once") {
  ScriptedJob job = training_job();
  job.feed(ProcessLeaving{kWorker0, "preempted"});

  CHECK(job.feed(ProcessLeaving{kWorker0, "SIGTERM"}).empty());
}

TEST_CASE("who is taken before the boundary is not replaced twice") {
  ScriptedJob job = training_job();
  job.feed(ProcessLeaving{kWorker0, "preempted"});

  CHECK(job.lose(kWorker0) == Lines{"halt worker 1 and shard 0"});
  CHECK(job.halted({kWorker1, kShard0}) == Lines{"configure shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1});
  CHECK(job.controller().wanted_workers() == 2);
}

TEST_CASE("where all leave, they train on until somebody has come") {
  ScriptedJob job = training_job();
  job.feed(ProcessLeaving{kWorker0, "preempted"});
  job.feed(ProcessLeaving{kWorker1, "preempted"});
  Lines all;
  for (int i = 0; i < 10; ++i)
    for (const std::string& line : job.iterate()) all.push_back(line);
  CHECK(std::ranges::all_of(all, [](const auto& line) { return line.starts_with("grant"); }));
  CHECK_FALSE(all.empty());

  job.feed(ProcessJoined{kWorker2});
  job.train_to_boundary();
  job.halted({kWorker0, kWorker1, kWorker2, kShard0});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{2});
}

TEST_CASE("who leaves before it has come is let go at once, and another is asked for") {
  ScriptedJob job = training_job();
  job.feed(ReshapeWanted{3, 10, "more"});

  CHECK(job.feed(ProcessLeaving{kWorker2, "preempted"}) ==
        Lines{"announce", "release worker 2", "start worker 3"});
}

TEST_CASE("who was let go while it started may still say that it is there") {
  ScriptedJob job = training_job();
  job.feed(ReshapeWanted{3, 10, "more"});
  CHECK(job.feed(ReshapeWanted{2, 10, "no more"}) == Lines{"release worker 2"});

  CHECK(job.feed(ProcessJoined{kWorker2}).empty());
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0, 1});
  CHECK(job.feed(ProcessLeft{kWorker2}).empty());
  for (int i = 0; i < 10; ++i)
    for (const std::string& line : job.iterate()) CHECK(line.starts_with("grant"));
}

TEST_CASE("a job does not wait for the halt of who was let go while the others came together") {
  ScriptedJob job(small_plan());
  for (const ProcessName& process : {kShard0, kWorker1}) job.feed(ProcessJoined{process});
  CHECK(job.feed(ReshapeWanted{1, 10, "fewer"}) == Lines{"release worker 0", "initialise shards"});
  CHECK(job.feed(ProcessJoined{kWorker0}).empty());
  job.shards_ready();

  CHECK(job.ready(kWorker1).front().starts_with("grant"));
  CHECK(job.feed(ProcessLeft{kWorker0}).empty());
}

TEST_CASE("with shrink, who leaves is not replaced") {
  ControllerPlan plan = small_plan();
  plan.faults.on_worker_loss = OnWorkerLoss::kShrink;
  ScriptedJob job = training_job(plan);

  CHECK(job.feed(ProcessLeaving{kWorker0, "preempted"}) == Lines{"announce"});
  job.train_to_boundary();
  job.halted({kWorker0, kWorker1, kShard0});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1});
  CHECK(job.controller().wanted_workers() == 1);
}

TEST_CASE("who is dismissed leaves at the next boundary, and its place is not filled") {
  ScriptedJob job = training_job();
  CHECK(job.feed(WorkersDismissed{{0}}).empty());
  job.feed(ReshapeWanted{1, 10, "moves to another type", 1.0});
  CHECK(job.train_to_boundary() == Lines{"halt worker 0, worker 1 and shard 0"});
  CHECK(job.halted({kWorker0, kWorker1, kShard0}) == Lines{"release worker 0", "configure shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1});
  CHECK(job.controller().membership().first_iteration == job.done());
  CHECK(job.controller().wanted_workers() == 1);
}

TEST_CASE("who has not come goes before one that trains, whatever their indices") {
  ScriptedJob job = training_job();
  job.feed(ReshapeWanted{3, 10, "more"});
  job.feed(WorkersDismissed{{0}});
  CHECK(job.feed(ReshapeWanted{4, 10, "two more"}).size() == 2);  // workers 3 and 4
  job.feed(ProcessJoined{{Role::kWorker, 4}});
  const Lines lines = job.feed(ReshapeWanted{2, 10, "no more came"});
  CHECK(std::ranges::count(lines, "release worker 3") == 1);
  CHECK(std::ranges::count(lines, "release worker 2") == 1);
  job.train_to_boundary();
  job.halted({kWorker0, kWorker1, {Role::kWorker, 4}, kShard0});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1, 4});
}

TEST_CASE("a worker that is not there cannot be dismissed") {
  ScriptedJob job = training_job();
  CHECK(job.feed(WorkersDismissed{{7}}).empty());
  CHECK(job.controller().wanted_workers() == 2);
}
