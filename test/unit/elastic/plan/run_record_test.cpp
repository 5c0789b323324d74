#include "elastic/plan/run_record.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "elastic/history/run_summary.h"
#include "elastic/plan/slow_machines.h"
#include "test/unit/elastic/events/sample_events.h"
#include "test/unit/elastic/history/evaluated_job.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

// A run at one configuration that was below its target at epoch 1 and above it at epoch 2.
RunSummary run_to_target(Metric metric = Metric::kAccuracy) {
  RunSummary summary;
  double time = 0.0;
  const auto log = [&](RunEvent event) { summary.apply({time += 1.0, std::move(event)}); };
  fact::Start start = sample_start();  // 1000 samples, target: test accuracy 0.9
  start.target->metric = metric;
  log(std::move(start));
  log(fact::Model{.parameter_count = 42, .architecture = "a1", .groups = {}});
  log(sample_membership(1, {25, 25}));
  log(sample_iterations(1, 0, 20, 2));
  log(sample_evaluation(20, 1.0, 0.5, 0.86));
  log(sample_iterations(1, 20, 20, 2));
  log(sample_evaluation(40, 2.0, 0.4, 0.94));
  log(fact::TargetReached{
      .metric = metric, .split = Split::kTest, .value = 0.94, .iteration = 40, .epoch = 2.0});
  return summary;
}

JobConfig some_config() {
  JobConfig config;
  config.name = "job";
  config.data.train.format = config.data.test.format = DataFormat::kSynthetic;
  return config;
}

// A job that rents machines.
class RentingRun final {
 public:
  RentingRun() { log(sample_start()); }
  void rent(std::uint32_t worker, const char* type) {
    fact::Machine machine;
    machine.name = type + std::to_string(worker);
    machine.change = fact::MachineChange::kReady;
    machine.worker = worker;
    machine.machine_type = type;
    log(machine);
  }
  // Iterations of 0.1 s. `compute_seconds`: by rank.
  void train(const std::vector<std::uint32_t>& shares, const std::vector<double>& compute_seconds,
             std::uint32_t count = 40) {
    fact::Iterations iterations = sample_iterations(
        ++epoch_, iteration_, count, static_cast<std::uint32_t>(compute_seconds.size()));
    for (auto& worker : iterations.workers) {
      worker.forward.assign(count, 0.4 * compute_seconds[worker.rank]);
      worker.backward.assign(count, 0.6 * compute_seconds[worker.rank]);
    }
    log(sample_membership(epoch_, shares, iteration_, 50 * iteration_));
    log(iterations);
    iteration_ += count;
  }
  double now() const { return time_; }
  const RunNumbers& numbers() const { return summary_.numbers(); }
  perfmodel::ModelRecord record() const { return record_of(some_config(), numbers(), "e2"); }

 private:
  void log(RunEvent event) { summary_.apply({time_ += 1.0, std::move(event)}); }

  RunSummary summary_;
  double time_ = 0.0;
  std::uint32_t epoch_ = 0;
  std::uint64_t iteration_ = 0;
};

}  // namespace

TEST_CASE(
    "a run's record has its seconds per iteration and the interpolated epochs to its target") {
  const RunSummary summary = run_to_target();

  const perfmodel::ModelRecord record = record_of(some_config(), summary.numbers(), "e2");

  CHECK(record.signature.architecture == "a1");
  CHECK(record.signature.parameters == 42);
  CHECK(record.signature.samples_per_epoch == 1000);
  REQUIRE(record.times.size() == 1);
  CHECK(record.times[0].machine == "e2");
  CHECK(record.times[0].workers == 2);
  CHECK(record.times[0].batch_size == 50);
  CHECK(record.times[0].seconds == Approx(0.1));
  CHECK(record.times[0].iterations == 37);  // three are discarded
  REQUIRE(record.epochs.size() == 1);
  CHECK(record.epochs[0].epochs == Approx(1.5));
  CHECK(record.epochs[0].target == "test accuracy 0.9");
  CHECK(record.epochs[0].seconds == Approx(1.5 * 20 * 0.1));
  perfmodel::check_record(record);
}

TEST_CASE("the epochs to a target are interpolated on the curve of its own metric") {
  struct Case {
    Metric metric;
    double goal, before, after;
  };
  for (const auto& [metric, goal, before, after] :
       {Case{Metric::kBleu, 20.0, 18.0, 22.0}, Case{Metric::kPerplexity, 60.0, 70.0, 50.0},
        Case{Metric::kLoss, 1.5, 2.0, 1.0}}) {
    CAPTURE(name_of(metric));
    const auto measure = [](int epoch, fact::Evaluation& evaluation) {
      evaluation.loss = epoch == 1 ? 2.0 : 1.0;
      evaluation.metrics[Metric::kBleu] = epoch == 1 ? 18.0 : 22.0;
      evaluation.metrics[Metric::kPerplexity] = epoch == 1 ? 70.0 : 50.0;
    };
    RunSummary summary = evaluated_job(2, metric, goal, measure);
    summary.apply({7.0, fact::TargetReached{.metric = metric,
                                            .split = Split::kTest,
                                            .value = after,
                                            .iteration = 40,
                                            .epoch = 2.0}});

    const auto epochs = record_of(some_config(), summary.numbers(), "e2").epochs;
    REQUIRE(epochs.size() == 1);
    CHECK(epochs[0].epochs == Approx(1.0 + (goal - before) / (after - before)));
  }
}

TEST_CASE("a run that changed its configuration says nothing about epochs") {
  RunSummary summary = run_to_target();
  summary.apply({100.0, sample_membership(2, {50}, 40, 2000)});
  summary.apply({101.0, sample_iterations(2, 40, 20, 1)});
  const perfmodel::ModelRecord record = record_of(some_config(), summary.numbers(), "e2");
  CHECK(record.epochs.empty());
  CHECK(record.times.size() == 2);
}

TEST_CASE("the machine of a run is the type of all machines that it rented") {
  RunSummary summary = run_to_target();
  const JobConfig config = some_config();
  const std::string here = machine_type(config, summary.numbers());
  CHECK(here.find(" x ") != std::string::npos);
  const auto add = [&](const char* type, fact::MachineChange change) {
    fact::Machine machine;
    machine.name = type;
    machine.change = change;
    machine.machine_type = type;
    summary.apply({100.0, machine});
  };
  add("refused", fact::MachineChange::kRefused);
  CHECK(machine_type(config, summary.numbers()) == here);
  add("a100", fact::MachineChange::kReady);
  add("a100", fact::MachineChange::kReady);
  CHECK(machine_type(config, summary.numbers()) == "a100");
  add("h100", fact::MachineChange::kReady);
  CHECK(machine_type(config, summary.numbers()) == here);
  JobConfig on_hosts = config;
  on_hosts.cluster.hosts.emplace_back();
  CHECK(machine_type(on_hosts, summary.numbers()) == "ssh hosts");
  JobConfig on_untyped = config;
  on_untyped.provider.type = ProviderType::kSsh;
  CHECK(machine_type(on_untyped, summary.numbers()) == "ssh hosts");
  JobConfig named = config;
  named.model_store.machine_type = "mine";
  CHECK(machine_type(named, summary.numbers()) == "mine");
}

TEST_CASE("a run on machines of several types has rows of each, and its workers' compute") {
  RentingRun run;
  run.rent(0, "small");
  run.rent(1, "small");
  run.train({25, 25}, {0.02, 0.02});
  run.rent(1, "large");
  run.train({20, 30}, {0.02, 0.02});
  run.rent(0, "large");
  run.train({25, 25}, {0.02, 0.02});

  const perfmodel::ModelRecord record = run.record();
  std::set<std::string> types;
  for (const perfmodel::TimeRow& row : record.times) {
    types.insert(row.machine);
    CHECK(row.job == run.numbers().start.job_id);
    CHECK(row.workers == 2);
  }
  CHECK(types == std::set<std::string>{"small", "large"});
  std::set<std::pair<std::string, double>> shares;
  for (const perfmodel::TimeRow& row : record.compute) shares.insert({row.machine, row.batch_size});
  CHECK(shares == std::set<std::pair<std::string, double>>{
                      {"small", 25}, {"small", 20}, {"large", 30}, {"large", 25}});
  perfmodel::check_record(record);
  // What the configuration names is one type.
  JobConfig named = some_config();
  named.model_store.machine_type = "mine";
  for (const perfmodel::TimeRow& row : record_of(named, run.numbers(), "mine").times)
    CHECK(row.machine == "mine");
}

TEST_CASE("a machine that was much slower than others of its type says nothing of it") {
  RentingRun run;
  for (const std::uint32_t worker : {0U, 1U, 2U}) run.rent(worker, "small");
  const double bought = run.now();
  run.train({20, 20, 20}, {0.02, 0.04, 0.02});
  // An iteration of the slow machine takes 0.1 s; this is it without what the others waited for.
  const auto rows =
      measured_machines(run.numbers(), slow_machines_of_run(run.numbers())).record.times;
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].seconds == Approx(0.08));
  run.rent(1, "small");  // another one, which is as fast as the others
  const double replaced = run.now();
  run.train({20, 20, 20}, {0.02, 0.02, 0.02});
  run.rent(0, "large");
  run.train({20, 20, 20}, {0.01, 0.02, 0.02});

  const auto slow = slow_machines_of_run(run.numbers());
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].worker == 1);
  CHECK(slow[0].since < bought);
  CHECK(slow[0].until == replaced);
  CHECK(slow[0].slowdown == Approx(2.0).epsilon(0.01));
  for (const perfmodel::TimeRow& row : run.record().compute)
    CHECK(row.seconds == Approx(row.machine == "small" ? 0.02 : 0.01));
  // Now three that are alike were measured, and nothing is calculated any more.
  for (const perfmodel::TimeRow& row : run.record().times)
    if (row.machine == "small") CHECK(row.seconds == Approx(0.1));
}

// As a job on emulated machines did, whose shares of the batch became uneven after 18 iterations.
// Later memberships have a slower host, or a larger share: they alone give a slowdown of 1.23.
TEST_CASE("a short membership with even shares tells how slow a machine is") {
  RentingRun run;
  run.rent(0, "small");
  run.rent(1, "small");
  run.train({16384, 16384}, {0.2226, 0.3485}, 18);
  run.train({20090, 12678}, {0.2709, 0.2663}, 25);
  run.train({32768}, {0.3944});

  const auto slow = slow_machines_of_run(run.numbers());
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].worker == 1);
  CHECK(slow[0].slowdown == Approx(1.57).epsilon(0.05));
}

TEST_CASE("a few iterations are no measurement") {
  RunSummary summary;
  summary.apply({0.0, sample_start()});
  summary.apply({1.0, sample_membership(1, {25, 25})});
  summary.apply({2.0, sample_iterations(1, 0, 7, 2)});
  CHECK(record_of(some_config(), summary.numbers(), "e2").times.empty());
}

TEST_CASE("seed, K, B and the files' folder are no part of the signature; model and rate are") {
  const RunSummary summary = run_to_target();
  const auto id = [&](const JobConfig& config) {
    return signature_of(config, summary.numbers()).id();
  };
  JobConfig config = some_config(), same = config, other = config;
  config.data.train.format = config.data.test.format = same.data.train.format =
      same.data.test.format = DataFormat::kIdx;
  config.data.train.features = "/a/images";
  same.data.train.features = "/b/images";
  same.seed = 7;
  same.batch_size = 999;
  same.cluster.workers = 9;
  other.optimizer.learning_rate = 0.77;
  CHECK(id(config) == id(same));
  CHECK(id(some_config()) != id(other));
}
