#include "elastic/control/controller.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "test/unit/elastic/control/scripted_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

TEST_CASE("shards are configured when all have joined, workers when the shards are ready") {
  ControllerPlan plan = small_plan();
  plan.shards = 2;
  ScriptedJob job(plan);

  CHECK(job.feed(ProcessJoined{{Role::kWorker, 0}}).empty());
  CHECK(job.feed(ProcessJoined{{Role::kShard, 0}}).empty());
  CHECK(job.feed(ProcessJoined{{Role::kShard, 1}}).empty());
  CHECK(job.feed(ProcessJoined{{Role::kWorker, 1}}) == Lines{"initialise shards"});
  CHECK(job.ready({Role::kShard, 1}).empty());
  CHECK(job.ready({Role::kShard, 0}) == Lines{"configure workers"});
  CHECK(job.ready({Role::kWorker, 0}).empty());
  CHECK(job.ready({Role::kWorker, 1}) == Lines{"grant 2"});
}

TEST_CASE("a job ends at max_iterations with an evaluation and a checkpoint") {
  ControllerPlan plan = small_plan();
  plan.stop.max_iterations = 7;
  ScriptedJob job(plan);
  job.start();

  CHECK(job.train_to_boundary() == Lines{"evaluate test"});
  CHECK(job.done() == 7);
  CHECK(job.evaluated(0.5) == Lines{"checkpoint best"});
  CHECK(job.copied().empty());
  CHECK(job.written() == Lines{"end processes"});
  CHECK(job.ended() == Lines{"end job max_iterations: 7 iterations are done"});
}

TEST_CASE("a job without evaluations trains through and ends with a checkpoint") {
  ControllerPlan plan = small_plan();
  plan.stop.max_iterations = 20;
  plan.evaluation.enabled = false;
  plan.evaluation.every_iterations = 5;
  ScriptedJob job(plan);
  job.start();

  CHECK(job.train_to_boundary() == Lines{"checkpoint"});
  CHECK(job.done() == 20);
  CHECK(job.copied().empty());
  CHECK(job.written() == Lines{"end processes"});
}

TEST_CASE("a job ends at max_epochs, fractions included") {
  ControllerPlan plan = small_plan();
  plan.stop.max_epochs = 1.25;
  ScriptedJob job(plan);
  job.start();

  job.train_to_boundary();

  CHECK(job.done() == 13);  // 125 samples, in batches of 10
  CHECK(job.controller().ending()->status == Status::kMaxEpochs);
}

TEST_CASE("a job ends where the target is reached, on the split that the target names") {
  ControllerPlan plan = small_plan();
  plan.stop.target = TargetConfig{Metric::kAccuracy, Split::kTrain, 0.9};
  plan.evaluation.every_iterations = 5;
  ScriptedJob job(plan);
  job.start();

  CHECK(job.train_to_boundary() == Lines{"evaluate train"});
  CHECK(job.evaluated(0.5, 0.89) == Lines{"grant 7"});
  CHECK(job.train_to_boundary() == Lines{"evaluate train"});
  CHECK(job.evaluated(0.4, 0.9) == Lines{"checkpoint best"});
  job.copied();
  job.written();
  CHECK(job.ended() == Lines{"end job target_reached: the target was reached after 10 iterations"});
}

TEST_CASE("a target in loss is reached from above") {
  ControllerPlan plan = small_plan();
  plan.stop.target = TargetConfig{Metric::kLoss, Split::kTest, 0.3};
  plan.evaluation.every_iterations = 1;
  ScriptedJob job(plan);
  job.start();

  job.train_to_boundary();
  job.evaluated(0.31);
  CHECK_FALSE(job.controller().ending());
  job.train_to_boundary();
  job.evaluated(0.3);
  CHECK(job.controller().ending()->status == Status::kTargetReached);
}

TEST_CASE("a loss that is not a number reaches no target and is not the best") {
  ControllerPlan plan = small_plan();
  plan.stop.target = TargetConfig{Metric::kLoss, Split::kTest, 0.3};
  plan.evaluation.every_iterations = 1;
  plan.checkpoint.every_iterations = 1;
  ScriptedJob job(plan);
  job.start();

  job.train_to_boundary();
  CHECK(job.evaluated(std::numeric_limits<double>::quiet_NaN()) == Lines{"checkpoint"});
  job.copied();
  job.written();
  job.train_to_boundary();
  CHECK(job.evaluated(0.5) == Lines{"checkpoint best"});
  CHECK_FALSE(job.controller().ending());
}

TEST_CASE("evaluations and checkpoints come at their intervals, evaluation first") {
  ControllerPlan plan = small_plan();
  plan.evaluation.every_iterations = 4;
  plan.checkpoint.every_iterations = 6;
  plan.stop.max_iterations = 100;
  ScriptedJob job(plan);
  job.start();

  Lines story;
  const auto tell = [&](const std::string& line) {
    story.push_back(fmt::format("{} at {}", line, job.done()));
  };
  while (job.done() < 12) {
    tell(job.train_to_boundary().back());
    if (story.back().starts_with("evaluate")) {
      const Lines next = job.evaluated(1.0 / static_cast<double>(job.done()));
      if (next != Lines{"checkpoint best"}) continue;
      tell(next.back());
    }
    job.copied();
    job.written();
  }

  CHECK(story == Lines{"evaluate test at 4", "checkpoint at 6", "evaluate test at 8",
                       "evaluate test at 12", "checkpoint best at 12"});
}

TEST_CASE(
    "workers are granted ahead as much as a quarter of a second holds, never past a boundary") {
  ControllerPlan plan = small_plan();
  plan.evaluation.every_iterations = 1000;
  ScriptedJob job(plan);
  job.start();

  std::uint64_t longest = 0;
  for (std::uint64_t done = 1; done < 1000; ++done) {
    job.pass(0.001);
    for (const std::uint32_t rank : {0U, 1U})
      CHECK(job.feed(IterationsDone{rank, done}).size() <= 1);
    longest = std::max(longest, job.granted() - done);
    CHECK(job.granted() > done);
    CHECK(job.granted() <= 1000);
  }

  CHECK(longest >= 100);
  CHECK(longest <= 250);
}

TEST_CASE("the slowest worker decides which iterations are done") {
  ScriptedJob job(small_plan());
  job.start();

  CHECK(job.feed(IterationsDone{0, 2}).empty());
  CHECK(job.controller().iterations_done() == 0);
  job.feed(IterationsDone{1, 1});
  CHECK(job.controller().iterations_done() == 1);
}

TEST_CASE("a resumed job that was finished ends without an iteration, evaluated once more") {
  ControllerPlan plan = small_plan();
  plan.membership.first_iteration = 7;
  plan.membership.first_position = 70;
  plan.stop.max_iterations = 7;
  plan.resumes_checkpoint = true;
  ScriptedJob job(plan);

  CHECK(job.start() == Lines{"evaluate test"});
  CHECK(job.evaluated(0.5) == Lines{"end processes"});  // its checkpoint is there already
  CHECK(job.ended() == Lines{"end job max_iterations: 7 iterations are done"});
}

TEST_CASE("a resumed job does not forget the best score of its earlier life") {
  ControllerPlan plan = small_plan();
  plan.evaluation.every_iterations = 5;
  plan.checkpoint.every_iterations = 5;
  plan.best_score = -0.2;
  ScriptedJob job(plan);
  job.start();

  job.train_to_boundary();

  CHECK(job.evaluated(0.3) == Lines{"checkpoint"});
  CHECK(job.controller().best_score() == -0.2);
}

TEST_CASE("a checkpoint that is due while another is being written is taken when that is done") {
  ControllerPlan plan = small_plan();
  plan.checkpoint.every_iterations = 3;
  ScriptedJob job(plan);
  job.start();

  CHECK(job.train_to_boundary() == Lines{"checkpoint"});
  CHECK(job.copied() == Lines{"grant 5"});
  for (int i = 0; i < 10; ++i)
    for (const std::string& line : job.iterate()) CHECK(line.starts_with("grant"));
  CHECK(job.written().empty());
  const std::uint64_t asked_at = job.granted();
  CHECK(job.train_to_boundary() == Lines{"checkpoint"});
  CHECK(job.done() == asked_at);  // at the next boundary, not at the next interval
}

TEST_CASE("the last checkpoint waits for the one that is being written") {
  ControllerPlan plan = small_plan();
  plan.checkpoint.every_iterations = 4;
  plan.stop.max_iterations = 5;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();
  job.copied();

  CHECK(job.train_to_boundary() == Lines{"evaluate test"});
  CHECK(job.evaluated(0.5).empty());
  CHECK(job.written() == Lines{"checkpoint best"});
  CHECK(job.copied().empty());
  CHECK(job.written() == Lines{"end processes"});
}

TEST_CASE("a job that ends where its last checkpoint was taken waits for that to be written") {
  ControllerPlan plan = small_plan();
  plan.checkpoint.every_iterations = 5;
  plan.stop.max_iterations = 5;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();

  CHECK(job.evaluated(0.5) == Lines{"checkpoint best"});
  CHECK(job.copied().empty());
  CHECK(job.written() == Lines{"end processes"});
}

TEST_CASE("a checkpoint that could not be written does not end the job") {
  ControllerPlan plan = small_plan();
  plan.checkpoint.every_iterations = 4;
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();
  job.copied();

  CHECK(job.feed(CheckpointDone{false}).empty());

  CHECK(job.train_to_boundary() == Lines{"checkpoint"});
  CHECK(job.done() == 8);
}

TEST_CASE("checkpoints by time are taken at the next boundary, however long an interval is") {
  ControllerPlan plan = small_plan();
  plan.checkpoint.every_seconds = 2.0;
  ScriptedJob job(plan);
  job.start();

  CHECK(job.train_to_boundary() == Lines{"checkpoint"});
  CHECK(job.done() >= 20);
  CHECK(job.done() <= 23);  // a tenth of a second each
}

TEST_CASE("a job ends when its time is over, seconds of earlier lives included") {
  ControllerPlan plan = small_plan();
  plan.stop.max_seconds = 100.0;
  plan.seconds_before = 99.0;
  ScriptedJob job(plan);
  job.start();

  CHECK(job.train_to_boundary() == Lines{"evaluate test"});

  CHECK(job.done() >= 10);
  CHECK(job.done() <= 13);
  CHECK(job.controller().ending()->status == Status::kMaxTime);
}
