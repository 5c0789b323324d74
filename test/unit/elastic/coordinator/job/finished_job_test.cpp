#include "elastic/coordinator/job/finished_job.h"

#include <catch2/catch.hpp>

#include "elastic/events/event_log.h"
#include "elastic/history/run_summary.h"
#include "test/support/manual_clock.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/events/sample_events.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

// Target: test accuracy 0.9; limits: 10 epochs, 3600 s.
RunNumbers ended(Status status, double accuracy = 0.93) {
  RunSummary summary;
  summary.apply({0.0, sample_start()});
  summary.apply({0.0, sample_membership(1, {50, 50})});
  summary.apply({10.0, sample_iterations(1, 0, 100, 2)});
  if (status == Status::kTargetReached)
    summary.apply(
        {10.0, fact::TargetReached{Metric::kAccuracy, Split::kTest, accuracy, 100, 10.0}});
  summary.apply(
      {4000.0,
       fact::End{
           .status = status, .reason = "", .iteration = 100, .position = 10000, .exit_code = 0}});
  return summary.numbers();
}

StopConfig same_stop() {
  StopConfig stop;
  stop.target = TargetConfig{};
  stop.target->metric = Metric::kAccuracy;
  stop.target->split = Split::kTest;
  stop.target->value = 0.9;
  stop.max_epochs = 10.0;
  stop.max_seconds = 3600.0;
  return stop;
}

using enum Status;

}  // namespace

TEST_CASE("a job that has come to its end is finished as long as that is still its end") {
  StopConfig stop = same_stop();
  for (const auto status : {kTargetReached, kMaxEpochs, kMaxTime})
    CHECK(is_finished(ended(status), stop));
  for (const auto status : {kInterrupted, kFailed}) CHECK_FALSE(is_finished(ended(status), stop));

  stop.max_iterations = 100;
  CHECK(is_finished(ended(kMaxIterations), stop));
  stop.max_iterations = 101;
  CHECK_FALSE(is_finished(ended(kMaxIterations), stop));
}

TEST_CASE("a job whose limit is lifted is not finished") {
  StopConfig longer = same_stop();
  longer.max_epochs = 11.0;
  longer.max_seconds = 5000.0;
  CHECK_FALSE(is_finished(ended(kMaxEpochs), longer));
  CHECK_FALSE(is_finished(ended(kMaxTime), longer));
  CHECK(is_finished(ended(kTargetReached), longer));

  StopConfig better = same_stop();
  better.target->value = 0.92;  // what was reached is above it
  CHECK(is_finished(ended(kTargetReached), better));
  better.target->value = 0.95;
  CHECK_FALSE(is_finished(ended(kTargetReached), better));
  better.target->metric = Metric::kLoss;
  CHECK_FALSE(is_finished(ended(kTargetReached), better));
  better.target.reset();
  CHECK_FALSE(is_finished(ended(kTargetReached), better));
}

TEST_CASE("what the log of an ended job adds up to is known, and nothing of another") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  CHECK_FALSE(numbers_of_ended_job(path));

  ManualClock clock;
  EventLogWriter log(path, clock);
  log.append(sample_start());
  log.append(sample_membership(1, {50, 50}));
  CHECK_FALSE(numbers_of_ended_job(path));
  log.append(fact::End{
      .status = kMaxEpochs, .reason = "done", .iteration = 100, .position = 10000, .exit_code = 0});
  const auto numbers = numbers_of_ended_job(path);
  REQUIRE(numbers);
  CHECK(numbers->status == kMaxEpochs);
  CHECK(numbers->iterations == 100);

  log.append(sample_start());
  CHECK_FALSE(numbers_of_ended_job(path));
}
