// The end of a job whose last checkpoint cannot be written, and pauses.
#include <catch2/catch.hpp>

#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

// It has done its five iterations, and its last checkpoint is being written.
ScriptedJob job_at_its_end() {
  ControllerPlan plan = small_plan();
  plan.stop.max_iterations = 5;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();
  job.evaluated(0.5);
  job.copied();
  return job;
}

}  // namespace

TEST_CASE("the last checkpoint is tried again where it could not be written") {
  ScriptedJob job = job_at_its_end();

  CHECK(job.feed(CheckpointDone{false}) == Lines{"announce"});
  CHECK(job.feed(TimePassed{}).empty());
  job.pass(1.0);
  CHECK(job.feed(TimePassed{}) == Lines{"checkpoint best"});
  CHECK(job.copied().empty());
  CHECK(job.written() == Lines{"end processes"});
  CHECK(job.ended() == Lines{"end job max_iterations: 5 iterations are done"});
}

TEST_CASE("a job whose weights cannot be written at its end has failed") {
  ScriptedJob job = job_at_its_end();

  for (int i = 0; i < 3; ++i) {
    CHECK(job.feed(CheckpointDone{false}) == Lines{"announce"});
    job.pass(10.0);
    CHECK(job.feed(TimePassed{}) == Lines{"checkpoint best"});
    job.copied();
  }

  CHECK(job.feed(CheckpointDone{false}) == Lines{"end processes"});
  CHECK(job.ended() ==
        Lines{"end job failed: 5 iterations are done, but the weights of the end could not be "
              "written"});
}

TEST_CASE("a checkpoint that failed where the job then ends is taken again") {
  ControllerPlan plan = small_plan();
  plan.checkpoint.every_iterations = 4;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();
  job.feed(PauseWanted{true});
  job.copied();
  job.feed(CheckpointDone{false});

  CHECK(job.feed(Interrupted{}) == Lines{"checkpoint"});
}

TEST_CASE("a job that ends to save money does not wait for room on the disk") {
  ControllerPlan plan = small_plan();
  plan.stop.max_cost = 1.0;
  ScriptedJob job = training_job(plan);
  const CostMetered metered{0.995, 3.6, 0.0};
  job.feed(metered);
  while (job.done() < job.granted()) job.iterate();
  job.copied();

  CHECK(job.feed(CheckpointDone{false}) == Lines{"end processes"});
  CHECK(job.controller().ending()->status == Status::kFailed);
}

TEST_CASE("a job is paused from the boundary on, and until it goes on or ends") {
  ScriptedJob job = training_job();
  CHECK_FALSE(job.controller().is_paused());

  job.feed(PauseWanted{true});
  while (job.done() < job.granted()) job.iterate();
  CHECK_FALSE(job.controller().is_paused());  // the checkpoint is being copied
  job.copied();
  CHECK(job.controller().is_paused());
  job.written();
  CHECK(job.controller().is_paused());

  job.feed(PauseWanted{false});
  CHECK_FALSE(job.controller().is_paused());
}

TEST_CASE("a paused job ends where what it costs reaches the limit") {
  ControllerPlan plan = small_plan();
  plan.stop.max_cost = 1.0;
  ScriptedJob job = training_job(plan);
  job.feed(PauseWanted{true});
  while (job.done() < job.granted()) job.iterate();
  job.copied();
  job.written();

  CHECK(job.feed(CostMetered{0.5, 3.6, 0.0}).empty());
  CHECK(job.feed(CostMetered{0.999, 3.6, 0.0}) == Lines{"end processes"});
}
