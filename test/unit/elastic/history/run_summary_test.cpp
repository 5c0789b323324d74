#include "elastic/history/run_summary.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

void apply(RunSummary& summary, double time, RunEvent event) {
  summary.apply({.time = time, .event = std::move(event)});
}

}  // namespace

TEST_CASE("A run's totals are what a hand computes from its events") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());  // 3.6 per worker hour: 0.001 per worker second
  apply(summary, 2.0, sample_membership(1, {32, 32}));
  apply(summary, 12.0, sample_iterations(1, 0, 100, 2));
  apply(summary, 13.0, sample_evaluation(100, 6.4, 0.3, 0.8));
  apply(summary, 22.0, sample_end(100, 6400));

  const RunNumbers& numbers = summary.numbers();
  CHECK(numbers.status == Status::kMaxEpochs);
  CHECK(numbers.seconds == 22.0);
  CHECK(numbers.start_up_seconds == 2.0);
  CHECK(numbers.cost == Approx(20.0 * 2 * 0.001));
  CHECK(numbers.iterations == 100);
  CHECK(numbers.position == 6400);
  CHECK(numbers.epochs() == Approx(6.4));
  CHECK(numbers.samples_trained == 6400);
  CHECK(numbers.samples_per_second() == Approx(6400.0 / 22.0));
}

TEST_CASE("A run without an end event is not said to have ended") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {8}));

  CHECK_FALSE(summary.numbers().status.has_value());
}

TEST_CASE("A phase's statistics are of its own iterations, without the first three") {
  RunSummary summary;
  fact::Iterations iterations = sample_iterations(1, 0, 7, 2);
  iterations.seconds = {9.0, 9.0, 9.0, 0.1, 0.2, 0.3, 0.4};

  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {32, 32}));
  apply(summary, 30.0, iterations);

  const PhaseNumbers& phase = summary.numbers().phases.at(0);
  CHECK(phase.iterations == 7);
  CHECK(phase.samples == 7 * 64);
  CHECK(phase.discarded_iterations == 3);
  CHECK(phase.iteration_seconds.moments().count() == 4);
  CHECK(phase.iteration_seconds.moments().mean() == Approx(0.25));
  // Sum of squared deviations 0.05; standard error sqrt(0.05 / 3 / 4).
  CHECK(phase.iteration_seconds.moments().standard_error() == Approx(0.0645497));
  CHECK(phase.iteration_seconds.minimum() == 0.1);
  CHECK(phase.iteration_seconds.maximum() == 0.4);
  CHECK(phase.iteration_seconds.quantile(0.5) == Approx(0.2).epsilon(0.005));
}

TEST_CASE("The discarded iterations are counted over several events of a phase") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {8}));
  for (std::uint64_t i = 0; i < 5; ++i) apply(summary, 2.0, sample_iterations(1, i, 1, 1));

  CHECK(summary.numbers().phases.at(0).discarded_iterations == 3);
  CHECK(summary.numbers().phases.at(0).iteration_seconds.moments().count() == 2);
}

TEST_CASE(
    "Of what each worker measures, an iteration counts the mean; the skew shows the slowest") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {40, 24}));
  apply(summary, 2.0, sample_iterations(1, 0, 10, 2));  // compute 10 ms and 20 ms

  const PhaseNumbers& phase = summary.numbers().phases.at(0);
  CHECK(phase.compute_seconds.moments().mean() == Approx(0.015));
  CHECK(phase.data_wait_seconds.moments().mean() == Approx(0.001));
  CHECK(phase.sync_wait_seconds.moments().mean() == Approx(0.02));
  CHECK(phase.straggler_skew.mean() == Approx(20.0 / 15.0));
  REQUIRE(phase.workers.size() == 2);
  CHECK(phase.workers[0].share == 40);
  CHECK(phase.workers[0].compute_seconds.moments().mean() == Approx(0.010));
  CHECK(phase.workers[1].compute_seconds.moments().mean() == Approx(0.020));
  CHECK(phase.workers[1].compute_seconds.moments().count() == 7);
}

TEST_CASE("What the last worker waits is transfer; what the others wait longer is for stragglers") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {32, 32}));
  fact::Iterations iterations = sample_iterations(1, 0, 10, 2);
  iterations.workers[0].sync_wait.assign(10, 0.03);
  iterations.workers[1].sync_wait.assign(10, 0.01);
  apply(summary, 2.0, iterations);

  const PhaseNumbers& phase = summary.numbers().phases.at(0);
  CHECK(phase.transfer_seconds.moments().mean() == Approx(0.01));
  CHECK(phase.sync_wait_seconds.moments().mean() == Approx(0.02));
  CHECK(phase.workers[0].straggler_wait_seconds.moments().mean() == Approx(0.02));
  CHECK(phase.workers[1].straggler_wait_seconds.moments().mean() == Approx(0.0));
  CHECK(phase.waiting_seconds() == Approx(7 * 0.02));
  const double seconds = phase.iteration_seconds.moments().mean();
  CHECK(phase.waiting_share() == Approx(0.02 / (2 * seconds)));
}

TEST_CASE("Even shares and those that follow unequal workers are two configurations") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {33, 32}));
  apply(summary, 2.0, sample_iterations(1, 0, 10, 2));
  apply(summary, 3.0, sample_membership(2, {15, 50}, 10, 650));
  apply(summary, 4.0, sample_iterations(2, 10, 20, 2));
  apply(summary, 5.0, sample_membership(3, {13, 52}, 30, 1950));
  apply(summary, 6.0, sample_iterations(3, 30, 10, 2));

  const std::vector<ConfigurationNumbers> configurations = summary.numbers().configurations();

  REQUIRE(configurations.size() == 2);
  CHECK(configurations[0].has_even_shares);
  CHECK(configurations[0].iterations == 10);
  CHECK_FALSE(configurations[1].has_even_shares);
  CHECK(configurations[1].iterations == 30);
}

TEST_CASE("Memberships with one K and B are one configuration") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {32, 32}));
  apply(summary, 2.0, sample_iterations(1, 0, 10, 2));
  apply(summary, 3.0, sample_membership(2, {64}, 10, 640));
  apply(summary, 4.0, sample_iterations(2, 10, 10, 1));
  apply(summary, 5.0, sample_membership(3, {32, 32}, 20, 1280));
  apply(summary, 6.0, sample_iterations(3, 20, 10, 2));

  const std::vector<ConfigurationNumbers> configurations = summary.numbers().configurations();

  REQUIRE(configurations.size() == 2);
  CHECK(configurations[1].workers == 2);
  CHECK(configurations[1].batch_size == 64);
  CHECK(configurations[1].iterations == 20);
  CHECK(configurations[1].discarded_iterations == 6);
  CHECK(configurations[1].iteration_seconds.moments().count() == 14);
}

TEST_CASE("A resize opens a phase with its own size, time and cost") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {32, 32}));
  apply(summary, 11.0, sample_iterations(1, 0, 10, 2));
  apply(summary, 11.0, sample_membership(2, {32, 32, 32, 32}, 10, 640));
  apply(summary, 16.0, sample_iterations(2, 10, 5, 4));

  const RunNumbers& numbers = summary.numbers();
  REQUIRE(numbers.phases.size() == 2);
  CHECK(numbers.phases[0].seconds == 10.0);
  CHECK(numbers.phases[0].cost == Approx(10.0 * 2 * 0.001));
  CHECK(numbers.phases[1].seconds == 5.0);
  CHECK(numbers.phases[1].cost == Approx(5.0 * 4 * 0.001));
  CHECK(numbers.cost == Approx(0.04));
  CHECK(numbers.iterations == 15);
  CHECK(numbers.position == 640 + 5 * 128);
}

TEST_CASE("Statistics that arrive after a resize count for the phase that they were measured in") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {32, 32}));
  apply(summary, 2.0, sample_membership(2, {64}, 10, 640));
  apply(summary, 2.1, sample_iterations(1, 0, 10, 2));

  CHECK(summary.numbers().phases[0].iterations == 10);
  CHECK(summary.numbers().phases[1].iterations == 0);
  CHECK(summary.numbers().iterations == 10);
  CHECK(summary.numbers().position == 640);
}

TEST_CASE("A pause costs as long as it lasts, and ends with the process that began it") {
  RunSummary summary;
  summary.apply({0.0, sample_start()});
  CHECK(summary.numbers().cost_at(100.0) == 0.0);  // no membership yet
  summary.apply({0.0, sample_membership(1, {50, 50})});
  summary.apply({5.0, sample_iterations(1, 0, 50, 2)});
  summary.apply({6.0, fact::Pause{.paused = true, .iteration = 50}});
  summary.apply({11.0, fact::Pause{.paused = true, .iteration = 50}});

  const RunNumbers& numbers = summary.numbers();
  CHECK(numbers.paused_since == 6.0);
  CHECK(numbers.phases.back().paused_seconds == Approx(5.0));
  CHECK(numbers.cost == Approx(0.022));  // two workers at a thousandth of a dollar a second
  CHECK(numbers.cost_at(16.0) == Approx(0.032));

  summary.apply({20.0, sample_end(50, 5000)});
  CHECK_FALSE(numbers.paused_since);
  CHECK(numbers.cost_at(100.0) == Approx(0.040));
  summary.apply({20.0, sample_start()});
  CHECK_FALSE(numbers.paused_since);
}

TEST_CASE("After a resume the lost iterations are taken back, and their time and cost stay") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {10}));
  apply(summary, 11.0, sample_iterations(1, 0, 50, 1));
  fact::Start resumed = sample_start();
  resumed.resumed_from_iteration = 40;
  resumed.time_before = 11.0;
  apply(summary, 11.0, resumed);
  apply(summary, 13.0, sample_membership(1, {10}, 40, 400));
  apply(summary, 17.0, sample_iterations(1, 40, 20, 1));

  const RunNumbers& numbers = summary.numbers();
  CHECK(numbers.starts.total == 2);
  CHECK(numbers.iterations == 60);
  CHECK(numbers.position == 600);
  CHECK(numbers.iterations_trained == 70);
  CHECK(numbers.iterations_repeated == 10);
  CHECK(numbers.seconds == 17.0);
  CHECK(numbers.start_up_seconds == 1.0 + 2.0);
  CHECK(numbers.cost == Approx((10.0 + 4.0) * 0.001));
  CHECK(numbers.training_loss.points().size() == 60);
}

TEST_CASE("The training loss has its place in iterations, epochs and time") {
  RunSummary summary;
  fact::Iterations iterations = sample_iterations(1, 0, 3, 1);
  iterations.loss = {3.0, 2.0, 1.0};
  iterations.seconds = {0.5, 0.25, 0.25};

  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {100}));
  apply(summary, 2.0, iterations);

  const auto& points = summary.numbers().training_loss.points();
  REQUIRE(points.size() == 3);
  CHECK(points[0].first_iteration == 1);
  CHECK(points[0].mean == 3.0);
  CHECK(points[0].time == Approx(1.5));
  CHECK(points[1].time == Approx(1.75));
  CHECK(points[2].time == Approx(2.0));
  CHECK(points[2].epoch == Approx(0.3));
}

TEST_CASE("Each split keeps its last and its best evaluations") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_evaluation(10, 1.0, 0.50, 0.7));
  apply(summary, 2.0, sample_evaluation(20, 2.0, 0.30, 0.9));
  apply(summary, 3.0, sample_evaluation(30, 3.0, 0.20, 0.8));

  const SplitNumbers* split = summary.numbers().find_split(Split::kTest);
  REQUIRE(split != nullptr);
  CHECK(split->evaluations == 3);
  CHECK(split->seconds == Approx(0.75));
  CHECK(split->last.fact.iteration == 30);
  CHECK(split->most_accurate.fact.iteration == 20);
  CHECK(split->most_accurate.time == 2.0);
  CHECK(split->least_loss.fact.iteration == 30);
  CHECK(split->accuracy.points().size() == 3);
  CHECK(summary.numbers().find_split(Split::kTrain) == nullptr);
}

TEST_CASE("Checkpoints, failures and warnings are counted and listed") {
  RunSummary summary;
  const fact::Checkpoint best{.iteration = 10, .folder = "checkpoints/10", .best = true};
  const fact::Checkpoint later{.iteration = 20, .folder = "checkpoints/20"};
  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, best);
  apply(summary, 2.0, later);
  apply(summary, 3.0, fact::CheckpointFailed{.iteration = 30, .reason = "no space left"});
  apply(summary, 4.0, fact::CheckpointDamaged{.folder = "checkpoints/20", .reason = "checksum"});
  apply(summary, 5.0, fact::ProcessLost{.index = 1, .how = "killed by signal 9", .log_tail = {}});
  for (int i = 0; i < 300; ++i)
    apply(summary, 6.0, fact::Warning{.text = "number " + std::to_string(i)});

  const RunNumbers& numbers = summary.numbers();
  CHECK(numbers.checkpoints.written == 2);
  CHECK(numbers.checkpoints.failed == 1);
  CHECK(numbers.checkpoints.damaged == 1);
  CHECK(numbers.checkpoints.last->fact == later);
  CHECK(numbers.checkpoints.best->fact == best);
  CHECK(numbers.failures.total == 3);
  CHECK(numbers.warnings.total == 300);
  CHECK(numbers.warnings.latest.size() == 200);
  CHECK(numbers.warnings.latest.back().fact.text == "number 299");
}

TEST_CASE("Events that contradict each other are refused") {
  RunSummary summary;
  CHECK_THROWS_WITH(apply(summary, 0.0, sample_end(0, 0)), Catch::Contains("not 'start'"));

  apply(summary, 0.0, sample_start());
  apply(summary, 1.0, sample_membership(1, {8}, 100, 800));

  CHECK_THROWS_WITH(apply(summary, 2.0, sample_iterations(2, 100, 1, 1)),
                    Catch::Contains("membership 2"));
  CHECK_THROWS_WITH(apply(summary, 2.0, sample_iterations(1, 99, 1, 1)),
                    Catch::Contains("not announced"));
  CHECK_THROWS_WITH(apply(summary, 2.0, sample_iterations(1, 100, 1, 2)),
                    Catch::Contains("rank 1"));
  CHECK(summary.numbers().iterations == 100);
}

TEST_CASE("The room for samples is that of the tightest worker, as each has last measured it") {
  RunSummary summary;
  apply(summary, 0.0, sample_start());
  CHECK_FALSE(summary.numbers().room_samples());
  apply(summary, 1.0, fact::SampleMemory{0, 1000, 50});
  apply(summary, 1.0, fact::SampleMemory{1, 1000, 80});
  CHECK(summary.numbers().room_samples() == 50);
  apply(summary, 2.0, fact::SampleMemory{0, 1000, 100});
  CHECK(summary.numbers().room_samples() == 80);
}

}  // namespace scavenger::elastic
