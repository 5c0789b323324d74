#include "elastic/control/early_stopping.h"

#include <catch2/catch.hpp>
#include <limits>

#include "test/unit/elastic/control/scripted_job.h"

namespace scavenger::elastic {
namespace {

constexpr EarlyStoppingConfig kLossRule{Metric::kLoss, 2, 0.1};
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

EarlyStopState after(const EarlyStoppingConfig& rule, const std::vector<double>& values) {
  EarlyStopState state;
  std::uint64_t iteration = 0;
  for (const double value : values) note_evaluation(rule, iteration += 10, value, state);
  return state;
}

// It evaluates each fifth iteration, and has done three.
ControllerPlan stopping_plan() {
  ControllerPlan plan = small_plan();
  plan.stop.early_stopping = EarlyStoppingConfig{Metric::kLoss, 2, 0.0};
  plan.evaluation.every_iterations = 5;
  return plan;
}

Lines evaluated(ScriptedJob& job, double loss) {
  return job.feed(EvaluationDone{loss, loss});
}

}  // namespace

TEST_CASE("patience counts the evaluations since the last gain") {
  CHECK_FALSE(is_exhausted(kLossRule, after(kLossRule, {1.0, 1.0})));
  CHECK(is_exhausted(kLossRule, after(kLossRule, {1.0, 1.0, 1.0})));
  CHECK_FALSE(is_exhausted(kLossRule, after(kLossRule, {1.0, 1.0, 0.5, 0.6})));
  CHECK(after(kLossRule, {1.0, 1.0, 0.5, 0.6}) == EarlyStopState{0.5, 30, {40}});
}

TEST_CASE("a gain is more than min_delta, in the direction that is better") {
  CHECK(after(kLossRule, {1.0, 0.95, 0.875}).best == 0.875);  // small steps add up
  CHECK(after(kLossRule, {1.0, 0.95}).best == 1.0);
  const EarlyStoppingConfig accuracy{Metric::kAccuracy, 2, 0.0};
  CHECK(after(accuracy, {0.5, 0.25, 0.75}).best == 0.75);
  CHECK(is_exhausted(accuracy, after(accuracy, {0.5, 0.25, 0.5})));  // the same is no gain
}

TEST_CASE("a value that is not finite is no gain, not even as the first") {
  const EarlyStopState state = after(kLossRule, {kNoNumber, kNoNumber});
  CHECK_FALSE(state.best);
  CHECK(is_exhausted(kLossRule, state));
  CHECK(early_stop_reason(kLossRule, state) == "early stopping: 2 evaluations gave no finite loss");
}

TEST_CASE("evaluations that are made again after a loss count once") {
  EarlyStopState state = after(kLossRule, {1.0, 1.0});
  note_evaluation(kLossRule, 20, 1.0, state);
  CHECK_FALSE(is_exhausted(kLossRule, state));
  note_evaluation(kLossRule, 10, 1.0, state);
  CHECK(state == EarlyStopState{1.0, 10, {}});
  note_evaluation(kLossRule, 5, 2.0, state);  // before the best: it was no chance to be better
  CHECK(state.without_gain.empty());
}

TEST_CASE("a job without gain ends by early stopping, with a last checkpoint") {
  ScriptedJob job(stopping_plan());
  job.start();
  CHECK(job.train_to_boundary() == Lines{"evaluate test"});
  CHECK(evaluated(job, 0.5) == Lines{"checkpoint best"});  // though none is due
  job.copied();
  job.written();
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(job.controller().ending());
    CHECK(job.train_to_boundary() == Lines{"evaluate test"});
    const Lines lines = evaluated(job, 0.6);
    CHECK(lines.back() == (i == 0 ? "grant 12" : "checkpoint"));
  }
  job.copied();
  job.written();
  CHECK(job.ended() == Lines{"end job early_stopping: early stopping: in 2 evaluations loss did "
                             "not become better than 0.5, of iteration 5"});
}

TEST_CASE("a target that is reached wins over early stopping") {
  ControllerPlan plan = stopping_plan();
  plan.stop.early_stopping->patience = 1;
  plan.stop.target = TargetConfig{Metric::kAccuracy, Split::kTest, 0.9};
  ScriptedJob job(plan);
  job.start();
  job.train_to_boundary();
  job.feed(EvaluationDone{0.5, 0.5});
  job.copied();
  job.written();
  job.train_to_boundary();
  job.feed(EvaluationDone{0.95, 0.6});
  REQUIRE(job.controller().ending());
  CHECK(job.controller().ending()->status == Status::kTargetReached);
}

TEST_CASE("the best model waits for a disk that is at work, and training for it") {
  ScriptedJob job(stopping_plan());
  job.start();
  job.train_to_boundary();
  evaluated(job, 0.5);
  job.copied();  // the first is being written
  job.train_to_boundary();
  CHECK(evaluated(job, 0.4).empty());
  CHECK(job.written() == Lines{"checkpoint best"});
  CHECK(job.copied() == Lines{"grant 12"});
}

TEST_CASE("a resumed job has the patience that was left") {
  ControllerPlan plan = stopping_plan();
  plan.membership.first_iteration = 10;
  plan.membership.first_position = 100;
  plan.resumes_checkpoint = true;
  plan.best_score = -0.5;
  plan.early_stop = EarlyStopState{0.5, 5, {10}};
  ScriptedJob job(plan);
  job.start();
  CHECK(job.train_to_boundary() == Lines{"evaluate test"});
  evaluated(job, 0.6);
  REQUIRE(job.controller().ending());
  CHECK(job.controller().ending()->status == Status::kEarlyStopping);
}

}  // namespace scavenger::elastic
