// A process that is lost is replaced or missed, and the job goes on.
#include <catch2/catch.hpp>

#include "elastic/control/controller.h"
#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

ControllerPlan with_policy(OnWorkerLoss policy) {
  ControllerPlan plan = small_plan();
  plan.faults.on_worker_loss = policy;
  return plan;
}

}  // namespace

TEST_CASE(
    "the others go on at once without a lost worker, with its share, from where the shard is") {
  ScriptedJob job = training_job();

  CHECK(job.lose(kWorker1) == Lines{"start worker 1", "halt worker 0 and shard 0"});
  CHECK(job.feed(ProcessHalted{kWorker0, 3, true}).empty());
  CHECK(job.feed(ProcessHalted{kShard0, 4, true}) == Lines{"configure shards"});

  CHECK(job.controller().membership() == Membership{2, 10, {10}, 4, 40});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0});
  CHECK(job.shards_ready() == Lines{"configure workers"});
  CHECK(job.workers_ready() == Lines{"grant 6"});
}

TEST_CASE("a replacement is taken in at the next boundary, and has its predecessor's place") {
  ScriptedJob job = training_job();
  job.lose(kWorker1);
  job.halted({kWorker0, kShard0});
  job.all_ready();
  job.iterate();

  CHECK(job.feed(ProcessJoined{kWorker1}).empty());  // it waits for what was granted
  CHECK(job.train_to_boundary() == Lines{"halt worker 0, worker 1 and shard 0"});
  CHECK(job.feed(ProcessHalted{kWorker1, 0, false}).empty());
  CHECK(job.halted({kWorker0, kShard0}) == Lines{"configure shards"});

  CHECK(job.controller().membership().shares == std::vector<std::uint32_t>{5, 5});
  CHECK(job.controller().membership().first_iteration == job.done());
  job.all_ready();
  const auto from = job.done();
  CHECK(job.iterate().front() == fmt::format("went on from {}", from));
}

TEST_CASE("with shrink nobody is started, and without workers the job ends") {
  ScriptedJob job = training_job(with_policy(OnWorkerLoss::kShrink));

  CHECK(job.lose(kWorker0) == Lines{"halt worker 1 and shard 0"});
  job.halted({kWorker1, kShard0});
  job.all_ready();
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1});
  job.lose(kWorker1);
  CHECK(job.halted({kShard0}) == Lines{"end processes"});
  CHECK(job.ended() == Lines{"end job failed: no workers are left"});
}

TEST_CASE("the last worker's replacement is waited for") {
  ScriptedJob job = training_job();
  job.lose(kWorker0);
  job.lose(kWorker1);

  CHECK(job.halted({kShard0}).empty());
  CHECK(job.feed(ProcessJoined{kWorker1}) == Lines{"configure shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1});
}

TEST_CASE(
    "a lost shard brings the last checkpoint back, with a newer epoch, and the workers stay") {
  ControllerPlan plan = small_plan();
  plan.checkpoint.every_iterations = 2;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();
  job.copied();
  job.written();
  job.iterate();

  CHECK(job.lose(kShard0) == Lines{"start shard 0", "halt worker 0 and worker 1"});
  job.feed(IterationsDone{0, 4});  // what it had not reported yet
  CHECK(job.halted({kWorker0, kWorker1}).empty());
  CHECK(job.feed(ProcessJoined{kShard0}) == Lines{"find checkpoint"});
  CHECK(job.feed(CheckpointFound{2, 20}) == Lines{"restore shards"});

  CHECK(job.controller().membership() == Membership{2, 10, {5, 5}, 2, 20});
  job.all_ready();
  const auto told = job.controller().step(IterationsDone{0, 3}, 1e6);
  const auto lines = job.controller().step(IterationsDone{1, 3}, 1e6);
  CHECK(told.empty());
  CHECK(std::get<TellRecovery>(lines.front()).iterations_lost == 2);  // 3 and 4
  CHECK(std::get<TellRecovery>(lines.front()).lost == std::vector<ProcessName>{kShard0});
}

TEST_CASE("without a checkpoint, the job begins anew after a shard was lost") {
  ScriptedJob job = training_job();
  job.lose(kShard0);
  job.halted({kWorker0, kWorker1});
  job.feed(ProcessJoined{kShard0});

  CHECK(job.feed(CheckpointFound{}) == Lines{"initialise shards"});
  CHECK(job.controller().membership() == Membership{2, 10, {5, 5}, 0, 0});
}

TEST_CASE("where the state is in memory that outlives a shard, its loss loses nothing") {
  ControllerPlan plan = small_plan();
  plan.state_home = StateHome::kMemory;
  ScriptedJob job = training_job(plan);
  job.lose(kShard0);
  job.halted({kWorker0, kWorker1});

  CHECK(job.feed(ProcessJoined{kShard0}) == Lines{"halt shard 0"});
  CHECK(job.halted({kShard0}) == Lines{"configure shards"});
  CHECK(job.controller().membership().first_iteration == 3);
}

TEST_CASE("the keeper of shared memory says where it stands when nobody writes to it any more") {
  ControllerPlan plan = small_plan();
  plan.state_home = StateHome::kMemory;
  ScriptedJob job = training_job(plan);

  CHECK(job.lose(kWorker1) == Lines{"start worker 1", "halt worker 0"});
  CHECK(job.halted({kWorker0}) == Lines{"halt shard 0"});
  CHECK(job.feed(ProcessHalted{kShard0, 4, true}) == Lines{"configure shards"});
  CHECK(job.controller().membership().first_iteration == 4);
}

TEST_CASE("where the workers hold the state, they go on from the one that is furthest") {
  ControllerPlan plan = small_plan();
  plan.state_home = StateHome::kWorkers;
  plan.shards = 0;
  plan.membership = {1, 9, {3, 3, 3}, 0, 0};
  ScriptedJob job(plan);
  job.all_join();
  job.workers_ready();
  job.iterate();
  job.lose(kWorker0);
  job.feed(ProcessHalted{kWorker1, 1, true});

  const auto actions = job.controller().step(ProcessHalted{{Role::kWorker, 2}, 2, true}, 1e3);

  CHECK(std::get<ConfigureWorkers>(actions.back()).source_rank == 1);  // worker 2
  CHECK(std::get<ConfigureWorkers>(actions.back()).shares_state);      // worker 1 is behind
  CHECK(job.controller().membership().first_iteration == 2);
}

TEST_CASE("where all workers hold the same state, none is handed round") {
  ControllerPlan plan = small_plan();
  plan.state_home = StateHome::kWorkers;
  plan.shards = 0;
  plan.membership = {1, 9, {3, 3, 3}, 0, 0};
  ScriptedJob job(plan);
  job.all_join();
  job.workers_ready();
  job.iterate();
  job.lose(kWorker0);
  job.feed(ProcessHalted{kWorker1, 1, true});

  const auto actions = job.controller().step(ProcessHalted{{Role::kWorker, 2}, 1, true}, 1e3);

  CHECK_FALSE(std::get<ConfigureWorkers>(actions.back()).shares_state);
}

TEST_CASE("more is lost while the loss of one is being dealt with") {
  ControllerPlan plan = small_plan();
  plan.membership = {1, 9, {3, 3, 3}, 0, 0};
  ScriptedJob job(plan);
  job.start();
  const ProcessName worker2{Role::kWorker, 2};

  job.lose(worker2);
  CHECK(job.lose(kWorker1) == Lines{"start worker 1"});  // while halting
  CHECK(job.halted({kWorker0, kShard0}) == Lines{"configure shards"});
  job.feed(ProcessJoined{worker2});
  job.shards_ready();
  CHECK(job.lose(kWorker0) == Lines{"start worker 0", "halt worker 2 and shard 0"});  // connecting
  CHECK(job.ready(kWorker0).empty());                                                 // of before
  job.feed(ProcessHalted{worker2, 0, false});
  CHECK(job.halted({kShard0}) == Lines{"configure shards"});
  CHECK(job.controller().membership().epoch == 3);
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{2});
}

TEST_CASE("an evaluation that is interrupted by a loss is done again") {
  ControllerPlan plan = small_plan();
  plan.evaluation.every_iterations = 2;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();

  job.lose(kWorker1);
  CHECK(job.evaluated(0.5).empty());  // nobody listens
  job.halted({kWorker0, kShard0});

  CHECK(job.all_ready() == Lines{"went on from 2", "evaluate test"});
}

TEST_CASE("a checkpoint that was lost with a process is taken again") {
  ControllerPlan plan = small_plan();
  plan.checkpoint.every_iterations = 3;
  ScriptedJob job(plan);
  job.start();
  CHECK(job.train_to_boundary() == Lines{"checkpoint"});
  job.lose(kWorker0);
  job.feed(CheckpointDone{false, true});
  job.halted({kWorker1, kShard0});

  CHECK(job.all_ready() == Lines{"went on from 3", "checkpoint"});
}

TEST_CASE("a worker that dies when the last checkpoint is being written is not missed") {
  ControllerPlan plan = small_plan();
  plan.stop.max_iterations = 4;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();
  job.evaluated(0.5);
  job.copied();

  CHECK(job.lose(kWorker0).empty());
  CHECK(job.written() == Lines{"end processes"});
}

TEST_CASE("a shard that dies with the last checkpoint is missed") {
  ControllerPlan plan = small_plan();
  plan.stop.max_iterations = 4;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();
  job.evaluated(0.5);
  job.copied();

  CHECK(job.lose(kShard0).empty());
  CHECK(job.feed(CheckpointDone{false, true}) ==
        Lines{"start shard 0", "halt worker 0 and worker 1"});
  CHECK_FALSE(job.controller().ending() == std::nullopt);
  job.halted({kWorker0, kWorker1});
  job.feed(ProcessJoined{kShard0});
  job.feed(CheckpointFound{});
  CHECK(job.controller().ending() == std::nullopt);  // it has to be reached again
}

TEST_CASE("a replacement that dies at its start three times in a row is given up") {
  ScriptedJob job = training_job();
  job.lose(kWorker1);
  job.halted({kWorker0, kShard0});
  job.all_ready();

  CHECK(job.lose(kWorker1) == Lines{"start worker 1"});
  CHECK(job.lose(kWorker1) == Lines{"start worker 1"});
  CHECK(job.lose(kWorker1) == Lines{"announce"});
  CHECK(job.iterate().front().starts_with("went on"));
}

TEST_CASE("a shard that dies at its start three times in a row ends the job") {
  ScriptedJob job = training_job();
  job.lose(kShard0);
  job.lose(kShard0);
  job.lose(kShard0);

  CHECK(job.lose(kShard0) == Lines{"end processes"});
}

TEST_CASE("one loss more than the limit ends the job") {
  ControllerPlan plan = small_plan();
  plan.faults.max_losses = 1;
  ScriptedJob job = training_job(plan);
  job.lose(kWorker1);

  CHECK(job.lose(kWorker0) == Lines{"end processes"});
  CHECK(job.ended().front().find("faults.max_losses") != std::string::npos);
}

TEST_CASE("workers that are stuck though nobody was lost are halted and brought together again") {
  ControllerPlan plan = small_plan();
  plan.limits.heartbeat_seconds = 5.0;
  ScriptedJob job = training_job(plan);

  job.feed(ProcessStuck{kWorker0, "shard 0 is gone"});
  job.pass(4.0);
  CHECK(job.feed(TimePassed{}).empty());
  job.pass(2.0);
  CHECK(job.feed(TimePassed{}) == Lines{"announce", "halt worker 0, worker 1 and shard 0"});
  CHECK(job.halted({kWorker0, kWorker1, kShard0}) == Lines{"configure shards"});
}

TEST_CASE("workers that are stuck again and again end the job, clearly") {
  ScriptedJob job = training_job();
  for (int time = 0; time < 3; ++time) {
    job.feed(ProcessStuck{kWorker0, "no route to shard 0"});
    job.pass(100.0);
    job.feed(TimePassed{});
    job.halted({kWorker0, kWorker1, kShard0});
    job.all_ready();
  }

  CHECK(job.ended().front().find("no route to shard 0") != std::string::npos);
}

TEST_CASE("an interrupt while a loss is being dealt with ends the job at the next boundary") {
  ScriptedJob job = training_job();
  job.lose(kWorker1);

  CHECK(job.feed(Interrupted{}).empty());
  job.halted({kWorker0, kShard0});

  CHECK(job.all_ready() == Lines{"went on from 3", "checkpoint"});
}
