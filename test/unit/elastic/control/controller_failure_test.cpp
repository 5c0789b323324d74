// What ends a job before its time, in every state that it can be in.
#include <catch2/catch.hpp>
#include <functional>

#include "elastic/control/controller.h"
#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

struct Stage {
  std::string name;
  std::function<void(ScriptedJob&)> reach;
};

void train_to_checkpoint(ScriptedJob& job) {
  job.start();
  job.train_to_boundary();
  job.evaluated(0.5);
}

const std::vector<Stage>& starting_stages() {
  static const std::vector<Stage> stages = {
      {"joining", [](ScriptedJob&) {}},
      {"loading", [](ScriptedJob& job) { job.all_join(); }},
      {"connecting",
       [](ScriptedJob& job) {
         job.all_join();
         job.shards_ready();
       }},
  };
  return stages;
}

const std::vector<Stage>& running_stages() {
  static const std::vector<Stage> stages = {
      {"training", [](ScriptedJob& job) { job.start(); }},
      {"evaluating",
       [](ScriptedJob& job) {
         job.start();
         job.train_to_boundary();
       }},
      {"snapshotting", train_to_checkpoint},
      {"draining",
       [](ScriptedJob& job) {
         train_to_checkpoint(job);
         job.feed(Interrupted{});
         job.copied();
       }},
  };
  return stages;
}

std::vector<Stage> all_stages() {
  std::vector<Stage> stages = starting_stages();
  stages.insert(stages.end(), running_stages().begin(), running_stages().end());
  return stages;
}

ControllerPlan plan_with_boundaries() {
  ControllerPlan plan = small_plan();
  plan.evaluation.every_iterations = 5;
  plan.checkpoint.every_iterations = 5;
  return plan;
}

}  // namespace

TEST_CASE("a process that ended by itself, for an error of its own, ends the job in any state") {
  for (const Stage& stage : all_stages()) {
    INFO(stage.name);
    ScriptedJob job(plan_with_boundaries());
    stage.reach(job);

    CHECK(job.feed(ProcessLost{{Role::kWorker, 1}, "failed: NaN", true}) == Lines{"end processes"});
    CHECK(job.feed(ProcessLost{{Role::kShard, 0}, "went with it"}).empty());
    CHECK(job.ended() == Lines{"end job failed: worker 1 failed: NaN"});
  }
}

TEST_CASE("where the policy is to stop, a process lost in any state ends the job, named") {
  for (const Stage& stage : all_stages()) {
    INFO(stage.name);
    ControllerPlan plan = plan_with_boundaries();
    plan.faults.on_worker_loss = OnWorkerLoss::kStop;
    ScriptedJob job(plan);
    stage.reach(job);

    CHECK(job.lose({Role::kWorker, 1}) == Lines{"end processes"});
    CHECK(job.ended().front().starts_with("end job failed: worker 1 was killed"));
  }
}

TEST_CASE("a job whose memberships all lose a process before an iteration is done ends") {
  ControllerPlan plan = small_plan();
  plan.membership = {1, 10, {10}, 0, 0};
  ScriptedJob job(plan);
  job.start();
  const auto lose_at_once = [&job] {
    job.lose({Role::kWorker, 0});
    if (job.controller().ending()) return true;
    job.halted({{Role::kShard, 0}});
    job.feed(ProcessJoined{{Role::kWorker, 0}});
    job.shards_ready();
    job.workers_ready();
    return false;
  };
  for (int i = 0; i < 9; ++i) REQUIRE_FALSE(lose_at_once());

  SECTION("with the last loss as the reason") {
    CHECK(lose_at_once());
    CHECK(
        job.controller().ending()->reason ==
        "worker 0 was killed: 10 memberships in a row lost a process before an iteration was done");
  }
  SECTION("but not if one has done an iteration meanwhile") {
    job.iterate();
    for (int i = 0; i < 9; ++i) REQUIRE_FALSE(lose_at_once());
  }
  SECTION("nor while it is paused") {
    job.feed(PauseWanted{true});
    CHECK_FALSE(lose_at_once());
  }
}

TEST_CASE("what makes a job impossible ends it in any state, with the reason") {
  for (const Stage& stage : all_stages()) {
    INFO(stage.name);
    ScriptedJob job(plan_with_boundaries());
    stage.reach(job);

    CHECK(job.feed(JobImpossible{"another model"}) == Lines{"end processes"});
    CHECK(job.ended() == Lines{"end job failed: another model"});
  }
}

TEST_CASE("bad input that a worker finds before anything was trained is told apart") {
  const auto end_by = [](ScriptedJob& job) {
    job.feed(ProcessLost{{Role::kWorker, 1}, "failed: no TorchScript file", true, false, true});
    return *job.controller().ending();
  };
  ScriptedJob fresh(plan_with_boundaries());
  CHECK(end_by(fresh).bad_input);
  ScriptedJob started(plan_with_boundaries());
  started.start();
  CHECK(end_by(started).bad_input);  // its first iteration found it
  ScriptedJob trained(plan_with_boundaries());
  trained.start();
  trained.iterate();
  CHECK_FALSE(end_by(trained).bad_input);  // what was trained is worth a checkpoint's name
}

TEST_CASE("an interrupt before training ends the job at once") {
  for (const Stage& stage : starting_stages()) {
    INFO(stage.name);
    ScriptedJob job(plan_with_boundaries());
    stage.reach(job);

    CHECK(job.feed(Interrupted{}) == Lines{"end processes"});
    CHECK(job.ended() == Lines{"end job interrupted: interrupted by the user"});
  }
}

TEST_CASE("an interrupt in training finishes what is granted and takes a checkpoint") {
  ScriptedJob job(plan_with_boundaries());
  job.start();
  job.iterate();

  CHECK(job.feed(Interrupted{}).empty());
  CHECK(job.train_to_boundary() == Lines{"checkpoint"});  // and no evaluation: somebody waits
  CHECK(job.done() == job.granted());
  CHECK(job.copied().empty());
  CHECK(job.written() == Lines{"end processes"});
  CHECK(job.ended() == Lines{"end job interrupted: interrupted by the user"});
}

TEST_CASE("an interrupt during an evaluation or a checkpoint lets that end, and trains no more") {
  ScriptedJob evaluating(plan_with_boundaries());
  evaluating.start();
  evaluating.train_to_boundary();
  ScriptedJob snapshotting(plan_with_boundaries());
  train_to_checkpoint(snapshotting);

  CHECK(evaluating.feed(Interrupted{}).empty());
  CHECK(evaluating.evaluated(0.5) == Lines{"checkpoint best"});
  CHECK(snapshotting.feed(Interrupted{}).empty());
  for (ScriptedJob* job : {&evaluating, &snapshotting}) {
    CHECK(job->copied().empty());
    CHECK(job->written() == Lines{"end processes"});
    CHECK(job->ended() == Lines{"end job interrupted: interrupted by the user"});
  }
}

TEST_CASE("a second interrupt, and everything else after the end was decided, changes nothing") {
  ScriptedJob job(plan_with_boundaries());
  train_to_checkpoint(job);
  job.feed(Interrupted{});
  job.copied();

  CHECK(job.feed(Interrupted{}).empty());
  CHECK(job.written() == Lines{"end processes"});
  CHECK(job.feed(Interrupted{}).empty());
  CHECK(job.feed(ProcessLost{{Role::kWorker, 0}, "ended"}).empty());
  CHECK(job.feed(TimePassed{}).empty());
  CHECK(job.ended().size() == 1);
  CHECK(job.ended().empty());
  CHECK(job.feed(Interrupted{}).empty());
}

TEST_CASE("who does not start in time is killed, and started again, but not for ever") {
  ControllerPlan plan = small_plan();
  plan.limits.start_seconds = 60.0;
  ScriptedJob job(plan);
  job.feed(ProcessJoined{{Role::kShard, 0}});
  job.feed(ProcessJoined{{Role::kWorker, 0}});

  job.pass(60.0);
  CHECK(job.feed(TimePassed{}).empty());
  for (int time = 0; time < 2; ++time) {
    job.pass(60.1);
    CHECK(job.feed(TimePassed{}) == Lines{"kill worker 1"});
    CHECK(job.lose({Role::kWorker, 1}) == Lines{"start worker 1"});
  }
  CHECK(job.lose({Role::kWorker, 1}) == Lines{"announce", "initialise shards"});
}

TEST_CASE(
    "who has joined but does not get ready is halted with all, and killed where it is silent") {
  ControllerPlan plan = small_plan();
  plan.limits.start_seconds = 60.0;
  plan.limits.heartbeat_seconds = 5.0;
  ScriptedJob job(plan);
  job.all_join();
  job.shards_ready();
  job.ready({Role::kWorker, 1});

  job.pass(61.0);
  CHECK(job.feed(TimePassed{}) == Lines{"announce", "halt worker 0, worker 1 and shard 0"});
  CHECK(job.halted({{Role::kWorker, 1}, {Role::kShard, 0}}).empty());
  job.pass(6.0);
  CHECK(job.feed(TimePassed{}) == Lines{"kill worker 0"});
  CHECK(job.feed(TimePassed{}).empty());
}

TEST_CASE("an iteration that takes too long is halted, and who does not answer is killed") {
  ControllerPlan plan = small_plan();
  plan.limits.iteration_seconds = 10.0;
  ScriptedJob job(plan);
  job.start();
  job.feed(IterationsDone{0, 1});

  job.pass(9.0);
  CHECK(job.feed(TimePassed{}).empty());
  job.pass(2.0);
  CHECK(job.feed(TimePassed{}) == Lines{"announce", "halt worker 0, worker 1 and shard 0"});
  job.halted({{Role::kWorker, 0}, {Role::kShard, 0}});
  job.pass(6.0);
  CHECK(job.feed(TimePassed{}) == Lines{"kill worker 1"});
  CHECK(job.lose({Role::kWorker, 1}) == Lines{"start worker 1", "configure shards"});
}

TEST_CASE(
    "an iteration that takes too long again and again ends the job, and names who is behind") {
  ControllerPlan plan = small_plan();
  plan.limits.iteration_seconds = 10.0;
  ScriptedJob job(plan);
  job.start();

  for (int time = 0; time < 2; ++time) {
    job.feed(IterationsDone{0, 1});
    job.pass(11.0);
    REQUIRE(job.feed(TimePassed{}).back().starts_with("halt"));
    job.halted({{Role::kWorker, 0}, {Role::kWorker, 1}, {Role::kShard, 0}});
    job.all_ready();
  }
  job.feed(IterationsDone{0, 1});
  job.pass(11.0);

  CHECK(job.feed(TimePassed{}) == Lines{"end processes"});
  const std::string end = job.ended().front();
  CHECK(end.find("iteration 0 did not end") != std::string::npos);
  CHECK(end.find("waiting for worker 1") != std::string::npos);
  CHECK(end.find("worker 0") == std::string::npos);
}

TEST_CASE("an evaluation or a copy for a checkpoint that never ends is not waited for for ever") {
  ControllerPlan plan = plan_with_boundaries();
  plan.limits.boundary_seconds = 10.0;
  ScriptedJob evaluating(plan), snapshotting(plan);
  evaluating.start();
  evaluating.train_to_boundary();
  train_to_checkpoint(snapshotting);

  for (ScriptedJob* job : {&evaluating, &snapshotting}) {
    job->pass(9.0);
    CHECK(job->feed(TimePassed{}).empty());
    job->pass(2.0);
    REQUIRE(job->feed(TimePassed{}) == Lines{"announce", "halt worker 0, worker 1 and shard 0"});
  }
}
