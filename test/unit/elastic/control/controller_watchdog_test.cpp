// A job never waits for what cannot happen: it goes on with those that are there, or says what it
// waits for and ends.
#include <catch2/catch.hpp>

#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

ControllerPlan plan_of_three() {
  ControllerPlan plan = small_plan();
  plan.membership = {1, 12, {4, 4, 4}, 0, 0};
  return plan;
}

// Time passes as it does in a coordinator, with a look several times a second.
Lines wait(ScriptedJob& job, double seconds) {
  Lines all;
  for (double passed = 0.0; passed < seconds; passed += 0.2) {
    job.pass(0.2);
    for (std::string& line : job.feed(TimePassed{})) all.push_back(std::move(line));
  }
  return all;
}

}  // namespace

TEST_CASE("fewer workers are wanted while the last are starting: those that are there begin") {
  ScriptedJob job(plan_of_three());
  job.feed(ProcessJoined{kShard0});
  job.feed(ProcessJoined{kWorker0});

  const Lines lines = job.feed(ReshapeWanted{1, 12, "the user"});

  CHECK(lines == Lines{"release worker 2", "release worker 1", "initialise shards"});
  CHECK(job.controller().ranks() == std::vector<std::uint32_t>{0});
}

TEST_CASE("the last that is waited for leaves before it has come, and nobody takes its place") {
  ControllerPlan plan = small_plan();
  plan.faults.on_worker_loss = OnWorkerLoss::kShrink;
  ScriptedJob job(plan);
  job.feed(ProcessJoined{kShard0});
  job.feed(ProcessJoined{kWorker0});

  const Lines lines = job.feed(ProcessLeaving{kWorker1, "preempted"});

  CHECK(lines == Lines{"announce", "release worker 1", "initialise shards"});
}

TEST_CASE("a job in which nothing can happen any more ends, and says what it waited for") {
  ScriptedJob job(plan_of_three());
  job.feed(ProcessJoined{kShard0});
  // Nothing of ours tells that all workers are gone without a loss; the watchdog is for what we do
  // not know of.
  for (const ProcessName& worker : {kWorker0, kWorker1, kWorker2}) job.feed(ProcessLeft{worker});

  CHECK(wait(job, 9.0).empty());
  CHECK(wait(job, 3.0) == Lines{"end processes"});
  CHECK(job.controller().ending()->reason ==
        "the job stands still: it waits for processes, and none is on its way (there are shard 0)");
}

TEST_CASE("the watchdog lets a job wait that something can still happen to") {
  SECTION("for a machine, as long as it takes") {
    ScriptedJob job(plan_of_three());
    job.feed(ProcessJoined{kShard0});
    job.controller().step(MachineRefused{kWorker0, "capacity", 500.0}, 0.0);
    for (const ProcessName& worker : {kWorker1, kWorker2}) job.feed(ProcessJoined{worker});
    for (const std::string& line : wait(job, 60.0)) CHECK(line != "end processes");
  }
  SECTION("while it is paused") {
    ScriptedJob job = training_job();
    job.feed(PauseWanted{true});
    job.train_to_boundary();
    job.copied();
    job.written();
    for (const std::string& line : wait(job, 1000.0)) CHECK(line != "end processes");
  }
  SECTION("while the controller itself was stopped") {
    ScriptedJob job(plan_of_three());
    job.feed(ProcessJoined{kShard0});
    for (const ProcessName& worker : {kWorker0, kWorker1, kWorker2}) job.feed(ProcessLeft{worker});
    job.feed(TimePassed{});
    job.pass(3600.0);
    CHECK(job.feed(TimePassed{}).empty());
  }
}
