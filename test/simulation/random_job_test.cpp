// Jobs of the real coordinator in simulated worlds, drawn at random: machines that are refused and
// taken away, processes that crash and hang, slow and full disks, searches, resizes and pauses.
// SCAVENGER_SIMULATED_JOBS says how many, SCAVENGER_FIRST_SEED with which seed they begin.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>

#include "elastic/search/search_grid.h"
#include "test/simulation/simulated_job.h"

namespace scavenger::elastic {
namespace {

constexpr std::uint64_t kJobs = 20;

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

// Draws what happens to one job.
class Draw final {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed, "random job") {}

  bool with_share(double share) { return random_.uniform() < share; }
  double between(double least, double most) { return least + (most - least) * random_.uniform(); }
  std::uint32_t integer(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(random_.uniform() * (most - least + 1.0));
  }
  std::uint32_t batch() { return 32U << integer(1, 4); }

 private:
  RandomStream random_;
};

void draw_world(Draw& draw, JobScenario& scenario) {
  Market& market = scenario.market;
  market.refusal_share = draw.with_share(0.5) ? draw.between(0.0, 0.3) : 0.0;
  if (draw.with_share(0.6)) market.mean_life_seconds = draw.between(150.0, 2000.0);
  market.notice_share = draw.between(0.0, 1.0);
  scenario.config.provider.spot = market.mean_life_seconds > 0.0;
  Mishaps& mishaps = scenario.mishaps;
  if (draw.with_share(0.4)) mishaps.mean_seconds_to_crash = draw.between(100.0, 2000.0);
  if (draw.with_share(0.3)) mishaps.mean_seconds_to_hang = draw.between(100.0, 2000.0);
  if (draw.with_share(0.2)) mishaps.mean_seconds_to_shard_crash = draw.between(100.0, 2000.0);
  if (draw.with_share(0.2)) mishaps.early_crash_share = 0.1;
  if (draw.with_share(0.3)) scenario.disk.write_seconds = draw.between(1.0, 60.0);
  if (draw.with_share(0.15)) scenario.disk.refusal_share = draw.between(0.0, 0.1);
}

void draw_configuration(Draw& draw, JobScenario& scenario) {
  JobConfig& config = scenario.config;
  if (draw.with_share(0.2)) config.stop.max_cost = draw.between(0.002, 0.03);
  if (draw.with_share(0.2)) config.stop.max_epochs = draw.between(1.0, 20.0);
  if (draw.with_share(0.1)) config.stop.max_seconds = draw.between(60.0, 600.0);
  if (draw.with_share(0.3)) config.checkpoint.every_seconds = draw.between(5.0, 60.0);
  if (draw.with_share(0.2)) config.faults.on_worker_loss = OnWorkerLoss::kShrink;
  config.batching.dynamic = draw.with_share(0.2);
  if (draw.with_share(0.3)) {
    config.optimizer.batch_size_rule = BatchSizeRule::kAdaScale;
    config.optimizer.reference_batch_size = 64;
  }
  if (!draw.with_share(0.3)) return;
  constexpr SearchMode kModes[] = {SearchMode::kPartial, SearchMode::kAdaptive, SearchMode::kAuto};
  config.search.mode = kModes[draw.integer(0, 2)];
  config.search.policy = draw.with_share(0.5) ? Policy::kKnee : Policy::kMinimumCost;
  config.search.workers = {1, 2, 4, 8};
  config.search.batch_sizes = {64, 128, 256, 512};
  config.cluster.workers = 1U << draw.integer(0, 3);
  config.batch_size = 64U << draw.integer(0, 3);
}

void draw_commands(Draw& draw, JobScenario& scenario) {
  while (draw.with_share(0.35))
    scenario.commands.emplace_back(draw.between(1.0, 600.0),
                                   command::Resize{draw.integer(1, 8), draw.batch()});
  if (draw.with_share(0.1)) {
    const double pause = draw.between(30.0, 300.0);
    scenario.commands.emplace_back(pause, command::Pause{true});
    scenario.commands.emplace_back(pause + draw.between(1.0, 60.0), command::Pause{false});
  }
  if (draw.with_share(0.1))
    scenario.commands.emplace_back(draw.between(1.0, 400.0), command::Checkpoint{});
  if (draw.with_share(0.05))
    scenario.commands.emplace_back(draw.between(1.0, 600.0), command::Stop{});
}

JobScenario draw_job(std::uint64_t seed) {
  Draw draw(seed);
  JobScenario scenario;
  scenario.seed = seed;
  scenario.config = simulated_config(draw.integer(1, 8), draw.batch());
  scenario.model.samples = 20000;
  scenario.model.epochs = draw.between(3.0, 15.0);
  scenario.model.buffers = draw.with_share(0.3) ? 16 : 0;
  scenario.encodes = draw.with_share(0.2);
  draw_world(draw, scenario);
  draw_configuration(draw, scenario);
  draw_commands(draw, scenario);
  return scenario;
}

// A job may fail for what happened to it, and says so.
bool may_fail(const JobScenario& scenario, const std::string& reason) {
  const auto says = [&](const char* text) { return reason.find(text) != std::string::npos; };
  const Mishaps& mishaps = scenario.mishaps;
  const bool crashes = mishaps.mean_seconds_to_crash > 0.0 || mishaps.early_crash_share > 0.0 ||
                       mishaps.mean_seconds_to_shard_crash > 0.0;
  if (says("could not be written")) return scenario.disk.refusal_share > 0.0;
  if (says("no workers are left"))
    return scenario.config.faults.on_worker_loss == OnWorkerLoss::kShrink;
  if (says("times in a row") || says("workers in a row"))
    return crashes || mishaps.mean_seconds_to_hang > 0.0;
  return false;
}

}  // namespace

TEST_CASE("Whatever happens to a job, its invariants hold, and it ends for a reason") {
  const std::uint64_t first = number_from("SCAVENGER_FIRST_SEED", 0);
  const std::uint64_t jobs = number_from("SCAVENGER_SIMULATED_JOBS", kJobs);
  std::map<std::string, std::uint64_t> ends;
  std::uint64_t machines = 0, memberships = 0, crashes = 0, hangs = 0, iterations = 0;
  for (std::uint64_t seed = first; seed < first + jobs; ++seed) {
    INFO("seed " << seed);
    const JobScenario scenario = draw_job(seed);
    const JobOutcome outcome = SimulatedJob(scenario).run();
    INFO("ended after " << outcome.seconds << " s: " << outcome.reason);
    CHECK(outcome.faults == std::vector<std::string>{});
    if (outcome.status == Status::kFailed) CHECK(may_fail(scenario, outcome.reason));
    ++ends[outcome.status == Status::kFailed ? "failed" : outcome.reason.substr(0, 12)];
    machines += outcome.machines;
    memberships += outcome.memberships;
    crashes += outcome.cluster.crashes;
    hangs += outcome.cluster.hangs;
    iterations += outcome.iterations;
  }
  if (jobs >= kJobs) {  // one of them need not have all of it
    CHECK(machines > jobs);
    CHECK(memberships > jobs);
    CHECK(crashes > 0);
    CHECK(hangs > 0);
  }
  WARN(jobs << " jobs: " << iterations << " iterations, " << machines << " machines, "
            << memberships << " memberships, " << crashes << " crashes, " << hangs << " hangs, "
            << ends["failed"] << " failed");
}

}  // namespace scavenger::elastic
