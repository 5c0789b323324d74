#include "test/simulation/simulated_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "elastic/decisions/decision_replay.h"
#include "elastic/events/event_log.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"
#include "runtime/config/placement.h"

namespace scavenger::elastic {
namespace {

constexpr double kTarget = 0.9;

// The machine's memory or disk, without room now and then.
class FullDisk final : public LocalDisk {
 public:
  FullDisk(RandomStream& random, double refusal_share)
      : random_(random), refusal_share_(refusal_share) {}
  std::unique_ptr<FileOutput> create_file(const std::filesystem::path& path) override {
    if (random_.uniform() < refusal_share_)
      throw SystemError({.what = "No space left on device", .where = path.string(), .remedy = {}});
    return LocalDisk::create_file(path);
  }

 private:
  RandomStream& random_;
  const double refusal_share_;
};

}  // namespace

JobConfig simulated_config(std::uint32_t workers, std::uint32_t batch_size) {
  static const std::vector<std::string> kOverrides = {"provider.type=emulated"};
  static const JobConfig kReady =
      load_job_config(std::filesystem::path(SCAVENGER_CONFIGS) / "synthetic_mlp.json", kOverrides,
                      DataFiles::kNotChecked);
  JobConfig config = kReady;
  config.name = "simulated";
  config.cluster.workers = workers;
  config.batch_size = batch_size;
  config.ps.shards = 2;
  config.sync.transport = SyncTransport::kTcp;
  config.stop = {};
  config.stop.target = TargetConfig{Metric::kAccuracy, Split::kTest, kTarget};
  config.evaluation.every_epochs = 0.5;
  config.limits.iteration_seconds = 30.0;
  config.limits.boundary_seconds = 60.0;
  return config;
}

SimulatedJob::SimulatedJob(JobScenario scenario)
    : scenario_(std::move(scenario)),
      provider_(loop_, scenario_.market, scenario_.seed),
      random_(scenario_.seed, "simulated job"),
      disk_(std::make_unique<FullDisk>(random_, scenario_.disk.refusal_share)) {
  loop_.work_seconds = [this] { return scenario_.disk.write_seconds * (0.5 + random_.uniform()); };
  std::filesystem::create_directories(RunFolder{folder_.path()}.checkpoints());
  DataSize data;
  data.train_samples = scenario_.model.samples;
  data.test_samples = 1000;
  coordinator_ = std::make_unique<Coordinator>(start(), data, world());
}

JobStart SimulatedJob::start() const {
  JobStart start;
  start.config = scenario_.config;
  start.folder.path = folder_.path();
  return start;
}

JobWorld SimulatedJob::world() {
  JobWorld world{loop_, provider_, *disk_, {screen_, -1, ProgressStyle::kQuiet}, 2, {}, {}};
  world.open_cluster = [this](const JobStart& job, const std::string&,
                              ClusterListener& listener) -> std::unique_ptr<Cluster> {
    SimulatedCluster::Settings settings;
    settings.config = job.config;
    settings.shards = shard_count(job.config);
    settings.model = scenario_.model;
    settings.mishaps = scenario_.mishaps;
    settings.seed = scenario_.seed;
    settings.encodes = scenario_.encodes;
    auto cluster =
        std::make_unique<SimulatedCluster>(loop_, listener, std::move(settings), counts_);
    cluster_ = cluster.get();
    provider_.on_taken = [this](const std::string& address) { cluster_->lose_machine(address); };
    return cluster;
  };
  return world;
}

JobOutcome SimulatedJob::run() {
  JobOutcome outcome;
  for (const auto& [seconds, command] : scenario_.commands)
    loop_.after(seconds, [this, command = command] {
      if (cluster_ == nullptr || coordinator_->controller().ending()) return;
      try {
        coordinator_->obey(command);
      } catch (const InputError&) {  // it cannot be obeyed, and says why
      }
    });
  try {
    coordinator_->begin();
    outcome.exit_code = coordinator_->run();
  } catch (const std::exception& error) {
    outcome.faults.push_back(std::string("the job threw: ") + error.what());
  }
  outcome.seconds = loop_.now();
  outcome.machines = provider_.machines();
  outcome.notices = provider_.notices();
  outcome.cluster = counts_;
  const Controller& controller = coordinator_->controller();
  outcome.workers = controller.membership().workers();
  outcome.batch_size = controller.membership().batch_size;
  outcome.iterations = controller.iterations_done();
  check(outcome);
  return outcome;
}

std::vector<LoggedEvent> SimulatedJob::events() const {
  std::vector<LoggedEvent> events;
  EventLogReader log(RunFolder{folder_.path()}.events());
  while (const auto event = log.next()) events.push_back(*event);
  return events;
}

// What holds for every job, whatever happens to it.
void SimulatedJob::check(JobOutcome& outcome) const {
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) outcome.faults.push_back(what);
  };
  std::ranges::copy(counts_.faults, std::back_inserter(outcome.faults));
  require(provider_.machines_left() == 0, "machines are left");
  require(cluster_ == nullptr || !cluster_->is_any_running(), "processes are left");
  RunSummary summary;
  bool has_ended = false;
  std::uint64_t position = 0;
  for (const LoggedEvent& logged : events()) {
    require(!has_ended, "the log goes on after the job's end");
    summary.apply(logged);
    if (const auto* end = std::get_if<fact::End>(&logged.event)) {
      has_ended = true;
      outcome.status = end->status;
      outcome.reason = end->reason;
      position = end->position;
    }
    if (const auto* written = std::get_if<fact::Checkpoint>(&logged.event))
      outcome.last_checkpoint = written->iteration;
    if (std::holds_alternative<fact::Membership>(logged.event)) ++outcome.memberships;
  }
  const RunNumbers& numbers = summary.numbers();
  outcome.cost = numbers.bill.cost(numbers.seconds);
  require(has_ended, "the log has no end");
  require(!outcome.reason.empty(), "the job ended without a reason");
  require(numbers.bill.cost_per_hour() == 0.0, "machines are still charged");
  const double limit = scenario_.config.stop.max_cost;
  require(limit <= 0.0 || outcome.cost <= limit,
          fmt::format("${:.5f} were spent of ${:.5f}", outcome.cost, limit));
  const bool has_trained = outcome.iterations > 0 && outcome.status != Status::kFailed;
  if (has_trained && outcome.status != Status::kMaxCost) {
    CheckpointStore store(*disk_, RunFolder{folder_.path()}.checkpoints(), {});
    const auto last = store.load_latest_good([](const Error&) {});
    require(last.has_value() && last->content.iteration == outcome.iterations,
            "the last iteration is not in a checkpoint");
    if (last)
      require(static_cast<std::uint64_t>(last->content.weights.at(1)) == position,
              "samples were used twice or never");
  }
  const ReplayedDecisions replayed = replay_decisions(folder_.path());
  require(replayed.differences.empty(), "a replay of the decisions decides otherwise");
}

}  // namespace scavenger::elastic
