// Machines that cannot be had, or are taken away, and what they may cost.
#include <catch2/catch.hpp>

#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

ControllerPlan with_limit(double dollars) {
  ControllerPlan plan = small_plan();
  plan.stop.max_cost = dollars;
  return plan;
}

Lines lose_with_machine(ScriptedJob& job, const ProcessName& process) {
  return job.feed(ProcessLost{process, "was preempted", false, true});
}

}  // namespace

TEST_CASE("a job starts without a machine that cannot be had now, and asks for it again") {
  ScriptedJob job(small_plan());
  job.feed(ProcessJoined{kShard0});
  job.feed(ProcessJoined{kWorker0});

  CHECK(job.feed(MachineRefused{kWorker1, "none left", 10.0}) ==
        Lines{"announce", "initialise shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0});
  CHECK(job.controller().wanted_workers() == 2);
  job.all_ready();
  job.pass(9.0);
  CHECK(job.feed(TimePassed{}).empty());
  job.pass(1.5);
  CHECK(job.feed(TimePassed{}) == Lines{"start worker 1"});
}

TEST_CASE("a job starts without a machine that does not come, and takes it in later") {
  ScriptedJob job(small_plan(), 1);
  job.feed(ProcessJoined{kShard0});
  job.feed(ProcessJoined{kWorker0});
  job.pass(9.5);
  CHECK(job.feed(TimePassed{}).empty());
  job.pass(1.0);
  CHECK(job.feed(TimePassed{}) == Lines{"announce", "initialise shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0});
  CHECK(job.controller().wanted_workers() == 2);
  job.all_ready();
  job.iterate();
  job.feed(ProcessStarted{kWorker1});
  job.feed(ProcessJoined{kWorker1});
  job.train_to_boundary();
  job.halted({kShard0, kWorker0, kWorker1});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("a job waits for a worker that has a machine and is slow to start") {
  ScriptedJob job(small_plan());
  job.feed(ProcessJoined{kShard0});
  job.feed(ProcessJoined{kWorker0});
  job.pass(20.0);
  CHECK(job.feed(TimePassed{}).empty());
}

TEST_CASE("time that has passed ends a job that has trained for nothing, also without machines") {
  ControllerPlan plan = small_plan();
  plan.stop.max_seconds = 30.0;
  ScriptedJob job(plan, 0);
  job.feed(ProcessJoined{kShard0});
  job.pass(29.0);
  CHECK(job.feed(TimePassed{}).empty());
  job.pass(1.5);
  CHECK(job.feed(TimePassed{}) == Lines{"end processes"});
}

TEST_CASE("time that has passed ends a job that does not come together again") {
  ControllerPlan plan = small_plan();
  plan.stop.max_seconds = 30.0;
  plan.limits.start_seconds = 60.0;
  ScriptedJob job = training_job(plan);
  job.iterate();
  for (const ProcessName& worker : {kWorker0, kWorker1}) lose_with_machine(job, worker);
  job.halted({kShard0});
  for (const ProcessName& worker : {kWorker0, kWorker1})
    job.feed(MachineRefused{worker, "none left", 1000.0});
  job.pass(40.0);
  CHECK(job.feed(TimePassed{}).empty());
  job.pass(60.0);
  CHECK(job.feed(TimePassed{}) == Lines{"end processes"});
}

TEST_CASE(
    "a machine that cannot be had now is no loss: also a job that shrinks asks for it again") {
  ControllerPlan plan = small_plan();
  plan.faults.on_worker_loss = OnWorkerLoss::kShrink;
  ScriptedJob job(plan);
  job.feed(ProcessJoined{kShard0});
  for (const ProcessName& worker : {kWorker0, kWorker1})
    job.feed(MachineRefused{worker, "none left", 10.0});

  job.pass(10.5);

  CHECK(job.feed(TimePassed{}) == Lines{"start worker 0", "start worker 1"});
}

TEST_CASE("the more often there is no machine, the longer the next try is away, up to a minute") {
  ScriptedJob job = training_job();
  job.feed(ReshapeWanted{3, 10, "more"});
  double longest = 0.0;
  for (int tries = 0; tries < 12; ++tries) {
    job.feed(MachineRefused{kWorker2, "none left", 0.1});
    double waited = 0.0;
    while (job.feed(TimePassed{}) != Lines{"start worker 2"}) {
      job.pass(0.1);
      waited += 0.1;
      REQUIRE(waited < 100.0);
    }
    CHECK(waited >= longest - 0.2);
    longest = waited;
  }
  CHECK(longest > 59.0);
  CHECK(longest < 61.0);
}

TEST_CASE("a machine that can never be had is not asked for again, and the last one ends the job") {
  ScriptedJob job(small_plan());
  job.feed(ProcessJoined{kShard0});

  CHECK(job.feed(MachineRefused{kWorker1, "no such type", std::nullopt}) == Lines{"announce"});
  CHECK(job.controller().wanted_workers() == 1);
  CHECK(job.feed(MachineRefused{kWorker0, "no such type", std::nullopt}) == Lines{"end processes"});
  CHECK(job.ended() == Lines{"end job failed: no machine for worker 0: no such type"});
}

TEST_CASE("a loss in doubt counts once it is known that no machine was taken") {
  ControllerPlan plan = small_plan();
  plan.faults.max_losses = 0;
  ScriptedJob job = training_job(plan);
  ProcessLost lost{kWorker1, "lost its connection"};
  lost.is_in_doubt = true;

  CHECK(job.feed(lost).front() == "start worker 1");
  SECTION("it was the machine's") {
    CHECK(job.feed(LossJudged{kWorker1, "lost its machine, which was preempted", true}).empty());
  }
  SECTION("it was the worker's") {
    CHECK(job.feed(LossJudged{kWorker1, "was lost, and its machine was not", false}) ==
          Lines{"end processes"});
    CHECK(job.ended() == Lines{"end job failed: worker 1 was lost, and its machine was not: one "
                               "loss more than faults.max_losses"});
  }
}

TEST_CASE("machines that are taken away are no faults of their workers") {
  ControllerPlan plan = small_plan();
  plan.faults.max_losses = 0;
  ScriptedJob job = training_job(plan);

  CHECK(lose_with_machine(job, kWorker1).front() == "start worker 1");
  for (int again = 0; again < 5; ++again) {  // never given up, but ever later
    job.pass(100.0);
    job.feed(TimePassed{});
    lose_with_machine(job, kWorker1);
  }
  job.pass(100.0);
  CHECK(job.feed(TimePassed{}).front() == "start worker 1");
}

TEST_CASE("three workers in a row that never join end a job that has no other") {
  ScriptedJob job(small_plan());
  job.feed(ProcessJoined{kShard0});

  CHECK(job.lose(kWorker0) == Lines{"start worker 0"});
  CHECK(job.lose(kWorker1) == Lines{"start worker 1"});
  CHECK(job.lose(kWorker0) == Lines{"end processes"});
  CHECK(job.ended() == Lines{"end job failed: worker 0 was killed: 3 workers in a row never joined "
                             "the job, and nobody else is there"});
}

TEST_CASE("a worker that joins shows that the machines are of use") {
  ScriptedJob job(small_plan());
  job.feed(ProcessJoined{kShard0});

  job.lose(kWorker0);
  job.lose(kWorker1);
  job.feed(ProcessJoined{kWorker1});
  CHECK(job.lose(kWorker1) == Lines{"start worker 1"});  // it had joined
  CHECK(job.lose(kWorker0) == Lines{"start worker 0"});
  CHECK(job.feed(ProcessJoined{kWorker1}).empty());
  // Where another is there, the job goes on with that.
  CHECK(job.lose(kWorker0) == Lines{"announce", "initialise shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{1});
}

TEST_CASE("machines that are taken away before their workers join do not end the job") {
  ControllerPlan plan = small_plan();
  plan.limits.start_seconds = 1e9;
  ScriptedJob job(plan);
  job.feed(ProcessJoined{kShard0});

  for (int again = 0; again < 10; ++again) {
    for (const ProcessName& worker : {kWorker0, kWorker1}) lose_with_machine(job, worker);
    job.pass(100.0);  // the first time they were asked for again at once, later after a while
    CHECK(job.feed(TimePassed{}) ==
          (again == 0 ? Lines{} : Lines{"start worker 0", "start worker 1"}));
  }
  CHECK_FALSE(job.controller().ending());
}

TEST_CASE("a job stops while there is enough left for a checkpoint") {
  ScriptedJob job = training_job(with_limit(1.0));

  CHECK(job.feed(CostMetered{0.5, 36.0}).empty());  // a cent a second
  job.feed(CostMetered{0.92, 36.0});                // about 10 seconds may be needed
  CHECK(job.train_to_boundary() == Lines{"checkpoint"});
  CHECK(job.copied().empty());
  CHECK(job.written() == Lines{"end processes"});
  CHECK(job.ended() == Lines{"end job max_cost: $0.9200 of $1 (stop.max_cost) are spent; "
                             "ending with a checkpoint may cost $0.0840"});
}

TEST_CASE("where nothing is left for a checkpoint, a job ends at once") {
  ScriptedJob job = training_job(with_limit(1.0));

  CHECK(job.feed(CostMetered{0.995, 36.0}) == Lines{"end processes"});
}

TEST_CASE("what it may cost to return the machines is kept back") {
  ScriptedJob job = training_job(with_limit(1.0));

  CHECK(job.feed(CostMetered{0.5, 36.0, 0.3}).empty());
  job.feed(CostMetered{0.7, 36.0, 0.22});
  CHECK(job.train_to_boundary() == Lines{"checkpoint"});
  job.copied();
  job.written();
  CHECK(job.ended() == Lines{"end job max_cost: $0.7000 of $1 (stop.max_cost) are spent; "
                             "returning the machines may cost $0.2200; "
                             "ending with a checkpoint may cost $0.0840"});
}

TEST_CASE("a job whose machines would cost more than it has does not wait for them") {
  ScriptedJob job(with_limit(1.0));

  CHECK(job.feed(CostMetered{0.0, 0.0, 1.1}) == Lines{"end processes"});
}

TEST_CASE("a job that has spent everything does not begin") {
  ScriptedJob job(with_limit(1.0));

  CHECK(job.feed(CostMetered{1.0, 0.0}) == Lines{"end processes"});
}
