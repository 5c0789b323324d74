#include "elastic/page/run_history.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

void apply(RunHistory& history, double time, RunEvent event) {
  history.apply({.time = time, .event = std::move(event)});
}

fact::ProcessStarted started(std::uint32_t index, std::int64_t pid) {
  return {.role = Role::kWorker, .index = index, .pid = pid, .log = "logs/worker"};
}

fact::ProcessJoined joined(std::uint32_t index, std::int64_t pid) {
  return {.role = Role::kWorker, .index = index, .pid = pid, .start_seconds = 1.0};
}

fact::Machine machine(fact::MachineChange change) {
  fact::Machine one;
  one.name = "vm1";
  one.change = change;
  one.reason = "preempted";
  return one;
}

double most(const DownsampledCurve& curve) {
  double value = 0.0;
  for (const CurvePoint& point : curve.points()) value = std::max(value, point.maximum);
  return value;
}

}  // namespace

TEST_CASE("However long a job is, its longest iteration stays in the curve") {
  RunHistory history;
  apply(history, 0.0, sample_start());
  apply(history, 1.0, sample_membership(1, {32, 32}));
  for (std::uint64_t first = 0; first < 100'000; first += 100) {
    fact::Iterations iterations = sample_iterations(1, first, 100, 2);
    if (first == 54'300) iterations.seconds[17] = 987.0;
    apply(history, 2.0 + static_cast<double>(first), iterations);
  }

  const TimerCurves& timers = history.timers();
  CHECK(timers.seconds.points().size() <= DownsampledCurve::kMaxPoints);
  CHECK(most(timers.seconds) == 987.0);
  CHECK(timers.seconds.points().back().last_iteration == 100'000);
}

TEST_CASE("The parts of an iteration have the points of the whole") {
  RunHistory history;
  apply(history, 0.0, sample_start());
  apply(history, 1.0, sample_membership(1, {32, 32}));
  for (std::uint64_t first = 0; first < 5'000; first += 50)
    apply(history, 2.0, sample_iterations(1, first, 50, 2));

  const TimerCurves& timers = history.timers();
  for (const DownsampledCurve* part :
       {&timers.data_wait, &timers.forward, &timers.backward, &timers.sync_wait}) {
    REQUIRE(part->points().size() == timers.seconds.points().size());
    for (std::size_t i = 0; i < part->points().size(); ++i)
      CHECK(part->points()[i].last_iteration == timers.seconds.points()[i].last_iteration);
  }
}

TEST_CASE("What a resume does again is in the curves once") {
  RunHistory history;
  fact::Start again = sample_start();
  again.resumed_from_iteration = 40;
  apply(history, 0.0, sample_start());
  apply(history, 1.0, sample_membership(1, {64}));
  apply(history, 2.0, sample_iterations(1, 0, 100, 1));
  apply(history, 2.5, sample_evaluation(100, 6.4, 0.3, 0.8));
  apply(history, 3.0, again);
  fact::Membership membership = sample_membership(1, {64});
  membership.first_iteration = 40;
  membership.position = 2560;
  apply(history, 4.0, membership);
  apply(history, 5.0, sample_iterations(1, 40, 20, 1));

  CHECK(history.timers().seconds.points().back().last_iteration == 60);
  CHECK(history.timers().seconds.points().size() == 60);
  for (const MetricCurve& metric : history.metrics()) CHECK(metric.values.points().empty());
}

TEST_CASE("A process lives from its start to its loss, and its successor after it") {
  RunHistory history;
  apply(history, 0.0, sample_start());
  apply(history, 1.0, started(0, 100));
  apply(history, 1.5, started(1, 101));
  apply(history, 2.0, joined(0, 100));
  apply(history, 2.5, joined(1, 101));
  apply(history, 3.0, sample_membership(1, {32, 32}));
  apply(history, 9.0,
        fact::ProcessLost{.role = Role::kWorker,
                          .index = 1,
                          .pid = 101,
                          .how = "killed by signal 9",
                          .log_tail = ""});
  apply(history, 9.5, sample_membership(2, {64}));
  apply(history, 10.0, started(1, 102));

  const auto& lives = history.processes().latest;
  REQUIRE(lives.size() == 3);
  CHECK_FALSE(lives[0].ended.has_value());
  CHECK(lives[1].joined == 2.5);
  CHECK(lives[1].ended == 9.0);
  CHECK(lives[1].end == LifeEnd::kLost);
  CHECK(lives[1].how == "killed by signal 9");
  CHECK(lives[2].pid == 102);
  CHECK_FALSE(lives[2].joined.has_value());
}

TEST_CASE("Workers that are in a membership no more have left, and newcomers wait") {
  RunHistory history;
  apply(history, 0.0, sample_start());
  for (std::uint32_t index = 0; index < 3; ++index) {
    apply(history, 1.0, started(index, 100 + index));
    apply(history, 2.0, joined(index, 100 + index));
  }
  apply(history, 3.0, sample_membership(1, {32, 32, 32}));
  apply(history, 4.0, started(3, 103));
  apply(history, 5.0, joined(3, 103));
  apply(history, 6.0, sample_membership(2, {32, 32}));

  const auto& lives = history.processes().latest;
  CHECK_FALSE(lives[0].ended.has_value());
  CHECK_FALSE(lives[1].ended.has_value());
  CHECK(lives[2].ended == 6.0);
  CHECK(lives[2].end == LifeEnd::kReleased);
  CHECK_FALSE(lives[3].ended.has_value());
}

TEST_CASE("A machine's life is put together from its changes") {
  RunHistory history;
  apply(history, 0.0, sample_start());
  apply(history, 1.0, machine(fact::MachineChange::kRequested));
  apply(history, 5.0, machine(fact::MachineChange::kReady));
  apply(history, 50.0, machine(fact::MachineChange::kNotice));
  apply(history, 55.0, machine(fact::MachineChange::kLost));
  apply(history, 60.0, machine(fact::MachineChange::kRequested));

  const auto& lives = history.machines().latest;
  REQUIRE(lives.size() == 2);
  CHECK(lives[0].requested == 1.0);
  CHECK(lives[0].ready == 5.0);
  CHECK(lives[0].notice == 50.0);
  CHECK(lives[0].ended == 55.0);
  CHECK(lives[0].machine.change == fact::MachineChange::kLost);
  CHECK(lives[1].requested == 60.0);
  CHECK_FALSE(lives[1].ended.has_value());
}

TEST_CASE("A request becomes the machine that it gets, and remembers where there was none") {
  const auto change = [](const char* name, fact::MachineChange what, const char* zone) {
    fact::Machine one;
    one.name = name;
    one.change = what;
    one.worker = 3;
    one.zone = zone;
    one.spot = true;
    one.price_per_hour = 3.6;
    one.on_demand_price_per_hour = 36.0;
    one.minimum_seconds = 60.0;
    one.reason = what == fact::MachineChange::kRefused ? "stock-out" : "";
    return one;
  };
  RunHistory history;
  apply(history, 0.0, sample_start());
  apply(history, 1.0, change("request-4", fact::MachineChange::kRequested, ""));
  apply(history, 2.0, change("request-4", fact::MachineChange::kRefused, "us-central1-a"));
  apply(history, 3.0, change("request-4", fact::MachineChange::kRefused, "us-central1-b"));
  apply(history, 10.0, change("job-w3-c41d", fact::MachineChange::kReady, "us-central1-c"));

  const auto& lives = history.machines().latest;
  REQUIRE(lives.size() == 1);
  CHECK(lives[0].machine.name == "job-w3-c41d");
  CHECK(lives[0].requested == 1.0);
  CHECK(lives[0].ready == 10.0);
  CHECK_FALSE(lives[0].ended.has_value());
  REQUIRE(lives[0].refusals.size() == 2);
  CHECK(lives[0].refusals[1].zone == "us-central1-b");
  CHECK(lives[0].refusals[1].time == 3.0);
  CHECK(lives[0].cost(20.0) == Approx(0.06));  // the first minute in any case
  CHECK(lives[0].seconds(110.0) == Approx(100.0));
  CHECK(lives[0].cost(110.0) == Approx(0.1));
  CHECK(lives[0].on_demand_cost(110.0) == Approx(1.0));

  apply(history, 110.0, sample_start());  // the process was killed, and another goes on
  apply(history, 111.0, change("request-0", fact::MachineChange::kRequested, ""));
  REQUIRE(lives.size() == 2);
  CHECK(lives[0].ended == 110.0);
  CHECK(lives[0].cost(500.0) == Approx(0.1));
}

TEST_CASE(
    "Of each prediction the chosen configuration is kept; of one that chooses none, nothing") {
  RunHistory history;
  fact::Prediction prediction;
  prediction.policy = Policy::kKnee;
  prediction.workers = 4;
  prediction.batch_size = 256;
  prediction.candidates.resize(3);
  prediction.candidates[1].workers = 4;
  prediction.candidates[1].batch_size = 256;
  prediction.candidates[1].seconds = 77.0;
  apply(history, 0.0, sample_start());
  apply(history, 1.0, prediction);
  prediction.workers = 5;
  apply(history, 2.0, prediction);

  REQUIRE(history.choices().latest.size() == 1);
  CHECK(history.choices().latest.front().predicted.seconds == 77.0);
}

TEST_CASE("What people should see is noted, with what is a problem") {
  RunHistory history;
  apply(history, 0.0, sample_start());
  apply(history, 1.0, sample_membership(1, {64}));
  apply(history, 2.0, sample_iterations(1, 0, 10, 1));
  apply(history, 3.0, fact::Warning{.text = "late"});
  apply(history, 4.0, sample_end(10, 640));

  const auto& notes = history.notes().latest;
  REQUIRE(notes.size() == 3);
  CHECK(notes[0].kind == "membership");
  CHECK(notes[1].attention == Attention::kProblem);
  CHECK(notes[1].text == "warning: late");
  CHECK(notes[2].kind == "end");
}

}  // namespace scavenger::elastic
