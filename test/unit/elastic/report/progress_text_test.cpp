#include "elastic/report/progress_text.h"

#include <catch2/catch.hpp>

#include "elastic/history/run_summary.h"
#include "elastic/history/time_to_go.h"
#include "elastic/report/event_text.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

// A summary and a pace that see the same events.
struct Run {
  RunSummary summary;
  RecentPace pace;

  void apply(double time, RunEvent event) {
    const LoggedEvent logged{.time = time, .event = std::move(event)};
    summary.apply(logged);
    pace.apply(logged);
  }
  const RunNumbers& numbers() const { return summary.numbers(); }
};

// K = 2 at 0.001 dollars per worker second; 50 iterations of 100 samples in 5 s, of 10 epochs of
// 1,000 samples.
Run half_way(fact::Start start = sample_start()) {
  Run run;
  run.apply(0.0, start);
  run.apply(1.0, sample_membership(1, {50, 50}));
  run.apply(6.0, sample_iterations(1, 0, 50, 2));
  return run;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("The status says where the job is, how good, how fast, and at what price") {
  Run run = half_way();
  run.apply(6.0, sample_evaluation(50, 5.0, 0.25, 0.875));

  const StatusText status = status_text(run.numbers(), run.pace, 7.0);

  CHECK(status.progress == "epoch 5.00 of 10  iteration 50");
  CHECK(status.quality == "loss 0.5000  test accuracy 87.50 % (target 90.00 %)");
  CHECK(status.speed == "1,000 samples/s  K 2  B 100  compute 15 ms  sync 20 ms");
  CHECK(status.effort == "7.0 s  $0.0120  to go at most 5.0 s  $0.0100");
}

TEST_CASE("A paused job says so, costs on, and has no speed") {
  Run run = half_way();
  run.apply(6.0, fact::Pause{.paused = true, .iteration = 50});

  const StatusText status = status_text(run.numbers(), run.pace, 16.0);
  CHECK(status.speed == "paused  K 2  B 100");
  CHECK(status.effort == "16.0 s  $0.0300  to go at most 5.0 s  $0.0100");
  CHECK(status_name(run.numbers()) == "paused");

  run.apply(16.0, fact::Pause{.paused = true, .iteration = 50});  // it goes on standing still
  CHECK(event_text({16.0, fact::Pause{true, 50}}, run.numbers()).attention == Attention::kNone);
  run.apply(26.0, fact::Pause{.paused = false, .iteration = 50});
  CHECK(status_text(run.numbers(), run.pace, 26.0).effort ==
        "26.0 s  $0.0500  to go at most 5.0 s  $0.0100");
  CHECK(status_name(run.numbers()) == "running");
}

TEST_CASE("The beginning and the end of a pause are told") {
  Run run = half_way();
  const fact::Pause begin{.paused = true, .iteration = 50}, end{.paused = false, .iteration = 50};
  run.apply(6.1, begin);
  CHECK(event_text({6.1, begin}, run.numbers()).text ==
        "paused after iteration 50, until scavenger-ctl RUN continue");
  run.apply(7.0, end);
  CHECK(event_text({7.0, end}, run.numbers()).text == "goes on from iteration 50");
}

TEST_CASE(
    "The outlook has the search, the noise, and what is left by the prediction, with its "
    "interval") {
  Run run = half_way();
  CHECK(status_text(run.numbers(), run.pace, 7.0).outlook.empty());
  fact::PredictedConfiguration chosen;
  chosen.workers = 4;
  chosen.batch_size = 200;
  chosen.epochs = 20.0;  // of which 5 are done
  chosen.seconds = 40.0;
  chosen.seconds_low = 36.0;
  chosen.seconds_high = 44.0;
  chosen.cost = 0.08;
  fact::Prediction prediction;
  prediction.workers = 4;
  prediction.batch_size = 200;
  prediction.candidates = {fact::PredictedConfiguration{}, chosen};
  run.apply(6.0, fact::SearchStep{.iteration = 50,
                                  .phase = fact::SearchPhase::kProfiling,
                                  .workers = 4,
                                  .batch_size = 200,
                                  .reason = ""});
  run.apply(6.0, prediction);

  const std::string outlook = status_text(run.numbers(), run.pace, 7.0).outlook;
  CHECK(outlook.starts_with("search profiling, next K 4  B 200  noise scale "));
  CHECK(outlook.ends_with("  to target 30.0 s  $0.0600 (27.0 s to 33.0 s, $0.0540 to $0.0660)"));
}

TEST_CASE("A limit's time to go has an interval where iterations differ") {
  fact::Start start = sample_start();
  start.target.reset();
  start.limits = {.max_epochs = 10.0};
  Run run;
  run.apply(0.0, start);
  run.apply(1.0, sample_membership(1, {50, 50}));
  fact::Iterations uneven = sample_iterations(1, 0, 50, 2);
  for (std::size_t i = 0; i < uneven.seconds.size(); i += 2) uneven.seconds[i] = 0.2;
  run.apply(8.5, uneven);

  CHECK(status_text(run.numbers(), run.pace, 8.5).effort ==
        "8.5 s  $0.0150  to go 7.5 s  $0.0150 (6.8 s to 8.2 s, $0.0135 to $0.0165)");
}

TEST_CASE("The end says what spot machines and the search have saved") {
  Run run = half_way();
  fact::Machine spot;
  spot.name = "vm1";
  spot.change = fact::MachineChange::kReady;
  spot.spot = true;
  spot.price_per_hour = 3.6;
  spot.on_demand_price_per_hour = 14.4;
  run.apply(6.0, spot);
  fact::Prediction prediction;
  prediction.workers = 2;
  prediction.batch_size = 100;
  const auto predicted = [](std::uint32_t workers, std::uint32_t batch, double seconds,
                            double cost) {
    fact::PredictedConfiguration one;
    one.workers = workers;
    one.batch_size = batch;
    one.epochs = 10.0;
    one.seconds = seconds;
    one.seconds_low = 0.8 * seconds;
    one.seconds_high = 1.25 * seconds;
    one.cost = cost;
    return one;
  };
  prediction.candidates = {predicted(2, 100, 9.0, 0.02), predicted(1, 50, 20.0, 0.02),
                           predicted(8, 50, 8.0, 0.1)};
  run.apply(6.0, prediction);
  run.apply(9.0, fact::TargetReached{});
  run.apply(
      10.0,
      fact::End{.status = Status::kTargetReached, .reason = "", .iteration = 50, .position = 5000});

  const std::string text = joined(closing_text(run.numbers(), {"runs/x"}));
  CHECK_THAT(text, Catch::Contains("  on demand $0.0160 for the same machine seconds, of which "
                                   "spot machines saved $0.0120 (75 %)\n"));
  CHECK_THAT(text, Catch::Contains("  saved     50 % less time (38 % less to 60 % less), 80 % less "
                                   "cost (75 % less to 84 % less) than K 1  B 50, the "
                                   "slowest, is predicted to take\n"));
  CHECK_THAT(text,
             Catch::Contains("            25 % more time (56 % more to 0 % less), 96 % less cost "
                             "(95 % less to 97 % less) than K 8  B 50, the "
                             "dearest, is predicted to take\n"));
}

TEST_CASE("A job that costs nothing does not talk of money") {
  fact::Start start = sample_start();
  start.price_per_worker_hour = 0.0;
  const Run run = half_way(start);

  CHECK(status_text(run.numbers(), run.pace, 6.0).effort == "6.0 s  to go at most 5.0 s");
}

TEST_CASE("A job aimed at a loss shows the loss") {
  fact::Start start = sample_start();
  start.target = fact::Target{.metric = Metric::kLoss, .split = Split::kTest, .value = 0.2};
  Run run = half_way(start);
  run.apply(6.0, sample_evaluation(50, 5.0, 0.25, 0.875));

  CHECK(status_text(run.numbers(), run.pace, 6.0).quality ==
        "loss 0.5000  test loss 0.2500 (target 0.2000)");
}

TEST_CASE("Before the first membership the status says that the job starts") {
  Run run;
  run.apply(0.0, sample_start());

  CHECK(status_text(run.numbers(), run.pace, 0.5).speed == "starting");
  CHECK_FALSE(estimate_time_to_go(run.numbers()).has_value());
}

TEST_CASE("The time to go follows the limit that is reached first") {
  fact::Start start = sample_start();
  start.target.reset();

  start.limits = {.max_epochs = 10.0, .max_iterations = 60, .max_seconds = 0.0};
  const auto by_iterations = estimate_time_to_go(half_way(start).numbers());
  start.limits = {.max_epochs = 10.0, .max_iterations = 0, .max_seconds = 6.5};
  const auto by_seconds = estimate_time_to_go(half_way(start).numbers());
  start.limits = {};
  const auto unlimited = estimate_time_to_go(half_way(start).numbers());

  CHECK(by_iterations->seconds == Approx(1.0));
  CHECK(by_iterations->cost == Approx(0.002));
  CHECK_FALSE(by_iterations->at_most);
  CHECK(by_seconds->seconds == Approx(0.5));
  CHECK_FALSE(unlimited.has_value());
}

TEST_CASE("The pace forgets what was long ago and begins anew with a membership") {
  Run run = half_way();
  fact::Iterations slower = sample_iterations(1, 50, 10, 2);
  slower.seconds.assign(10, 1.0);

  run.apply(100.0, slower);
  const double faded = run.pace.samples_per_second();
  run.apply(101.0, sample_membership(2, {10}, 60, 6000));

  CHECK(faded == Approx(100.0).epsilon(0.001));
  CHECK_FALSE(run.pace.known());
}

TEST_CASE(
    "A lost process is a problem, told with its last words, which cannot drive the terminal") {
  Run run = half_way();
  const fact::ProcessLost lost{
      .index = 1, .pid = 42, .how = "killed by signal 9", .log_tail = "one\ntwo\x1b[2J\n"};

  const EventText text = event_text({.time = 7.0, .event = lost}, run.numbers());

  CHECK(text.attention == Attention::kProblem);
  CHECK(text.text == "lost worker 1 (pid 42): killed by signal 9\n    | one\n    | two?[2J");
}

TEST_CASE("A traceback is shown as it is, without what could drive the terminal") {
  const fact::UserError error{
      .worker = 1, .what = "the script failed", .traceback = "Traceback:\n  line 1\x1b[2J"};
  const EventText shown = event_text({2.0, error}, half_way().numbers());
  CHECK(shown.attention == Attention::kProblem);
  CHECK_THAT(shown.text, Catch::StartsWith("Traceback:\n  line 1"));
  CHECK(shown.text.find('\x1b') == std::string::npos);
}

TEST_CASE("How a worker uses its device is one line") {
  const fact::DeviceUse use{.worker = 1,
                            .device = "GPU 0",
                            .most_used_bytes = 3'000'000'000,
                            .most_reserved_bytes = 4'000'000'000,
                            .total_bytes = 80'000'000'000,
                            .graphs = 2};
  const EventText shown = event_text({2.0, use}, half_way().numbers());
  CHECK(shown.attention == Attention::kDetail);
  CHECK_THAT(shown.text, Catch::StartsWith("worker 1 has used ") && Catch::Contains(" of GPU 0") &&
                             Catch::EndsWith("; CUDA graphs: 2"));
}

TEST_CASE("What a script logs is one line") {
  const fact::ScriptValues logged{.iteration = 1200, .names = {"loss", "a"}, .values = {0.25, 3}};
  CHECK(event_text({2.0, logged}, half_way().numbers()).text == "iteration 1,200  loss 0.25 a 3");
}

TEST_CASE("The closing block has the outcome, the price, and where the run is") {
  Run run = half_way();
  run.apply(6.0, sample_evaluation(50, 5.0, 0.25, 0.91));
  run.apply(6.0, fact::TargetReached{.metric = Metric::kAccuracy,
                                     .split = Split::kTest,
                                     .value = 0.91,
                                     .iteration = 50,
                                     .epoch = 5.0});
  run.apply(
      7.0,
      fact::End{.status = Status::kTargetReached, .reason = "", .iteration = 50, .position = 5000});

  CHECK(
      joined(closing_text(run.numbers(), {"runs/fashion_mlp"})) ==
      "fashion_mlp: target reached: test accuracy 91.00 % after 5.00 epochs, 50 iterations, 7.0 s\n"
      "  best      test accuracy 91.00 % at iteration 50 (last test accuracy 91.00 %)\n"
      "  time      7.0 s, of it start-up 1.0 s; 714 samples/s\n"
      "  cost      $0.0120 at $3.60 per worker and hour\n"
      "  run       runs/fashion_mlp (numbers: runs/fashion_mlp/report.json)\n");
}

TEST_CASE(
    "A job that has come to its limit says how to train on, and names no report without one") {
  Run run = half_way();
  run.apply(5.5, fact::Checkpoint{.iteration = 40, .folder = "checkpoints/40", .best = true});
  run.apply(6.0, fact::Checkpoint{.iteration = 50, .folder = "checkpoints/50"});
  run.apply(7.0, fact::End{.status = Status::kMaxEpochs,
                           .reason = "5 epochs are done",
                           .iteration = 50,
                           .position = 5000});

  CHECK_THAT(joined(closing_text(run.numbers(), {"my runs/x"})),
             Catch::Contains("train on  scavenger-train --resume 'my runs/x' --set"));
  CHECK_THAT(joined(closing_text(run.numbers(), {"runs/x", false})),
             Catch::EndsWith("  run       runs/x, without a report\n"
                             "  weights   runs/x/checkpoints/50 (best that is kept: iteration "
                             "40)\n"
                             "  train on  scavenger-train --resume runs/x --set "
                             "stop.max_epochs=...\n"));
}

TEST_CASE("A job that was stopped says how to go on, and what went wrong") {
  Run run = half_way();
  run.apply(6.0, fact::Checkpoint{.iteration = 50, .folder = "checkpoints/50"});
  run.apply(6.5, fact::Warning{.text = "odd"});
  run.apply(6.5, fact::CheckpointFailed{.iteration = 60, .reason = "no space left"});
  run.apply(7.0, fact::End{.status = Status::kInterrupted,
                           .reason = "Ctrl-C",
                           .iteration = 50,
                           .position = 5000,
                           .exit_code = 130});

  const std::string text = joined(closing_text(run.numbers(), {"runs/x"}));

  CHECK_THAT(text, Catch::StartsWith("fashion_mlp: interrupted: Ctrl-C after 5.00 epochs"));
  CHECK_THAT(text,
             Catch::Contains("processes lost: 0, checkpoints failed or damaged: 1, warnings: 1"));
  CHECK_THAT(text, Catch::EndsWith("  weights   runs/x/checkpoints/50\n"
                                   "  go on     scavenger-train --resume runs/x\n"));
}

}  // namespace scavenger::elastic
