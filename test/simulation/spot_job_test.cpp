// Jobs on machines that are taken away at random: what they cost beside machines that are not, and
// that nothing is lost but what was in flight.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "elastic/search/machine_pool.h"
#include "elastic/search/search_grid.h"
#include "elastic/search/search_replay.h"
#include "runtime/config/config_file.h"
#include "test/simulation/simulated_job.h"

namespace scavenger::elastic {
namespace {

constexpr std::uint64_t kSpotJobs = 2;
constexpr Market kOnDemand{.price_per_hour = 0.10};
constexpr Market kSpot{.price_per_hour = 0.03, .mean_life_seconds = 300.0};

JobScenario four_workers(const Market& market, std::uint64_t seed) {
  JobScenario scenario;
  scenario.config = simulated_config(4, 256);
  scenario.config.provider.spot = market.mean_life_seconds > 0.0;
  scenario.market = market;
  scenario.seed = seed;
  return scenario;
}

JobScenario searching(const Market& market, std::uint64_t seed) {
  JobScenario scenario = four_workers(market, seed);
  scenario.config.search.mode = SearchMode::kPartial;
  scenario.config.search.policy = Policy::kKnee;
  scenario.config.search.workers = {1, 2, 4, 8};
  scenario.config.search.batch_sizes = {64, 128, 256, 512};
  scenario.config.cluster.workers = 1;
  scenario.config.batch_size = 64;
  scenario.model.epochs = 40.0;
  return scenario;
}

// What holds for every job that is not stopped.
void check(const JobOutcome& outcome) {
  CHECK(outcome.faults == std::vector<std::string>{});
  CHECK(outcome.status == Status::kTargetReached);
  CHECK(outcome.last_checkpoint == outcome.iterations);
  CHECK(outcome.cluster.iterations == outcome.iterations);  // none was done twice
}

struct Sums {
  double seconds = 0.0, cost = 0.0, machines = 0.0, notices = 0.0, interrupted = 0.0,
         iterations = 0.0;
  double dearest = 0.0;

  void add(const JobOutcome& outcome) {
    seconds += outcome.seconds / kSpotJobs;
    cost += outcome.cost / kSpotJobs;
    machines += static_cast<double>(outcome.machines) / kSpotJobs;
    notices += static_cast<double>(outcome.notices) / kSpotJobs;
    interrupted += static_cast<double>(outcome.cluster.interrupted) / kSpotJobs;
    iterations += static_cast<double>(outcome.iterations) / kSpotJobs;
    dearest = std::max(dearest, outcome.cost);
  }
};

void show(const std::string& name, const Sums& mean) {
  WARN("means of " << kSpotJobs << " jobs, " << name << ": " << mean.seconds << " s, $" << mean.cost
                   << " (at most $" << mean.dearest << "), " << mean.iterations << " iterations, "
                   << mean.interrupted << " of them interrupted, " << mean.machines << " machines, "
                   << mean.notices << " with notice");
}

}  // namespace

TEST_CASE(
    "Jobs on four spot machines reach their target, lose no iteration but those in flight, and "
    "cost less") {
  Sums spot, on_demand;
  for (std::uint64_t seed = 0; seed < kSpotJobs; ++seed) {
    INFO("seed " << seed);
    const JobOutcome taken = SimulatedJob(four_workers(kSpot, seed)).run();
    const JobOutcome kept = SimulatedJob(four_workers(kOnDemand, seed)).run();
    check(taken);
    check(kept);
    CHECK(taken.machines > 4);
    CHECK(taken.cost < kept.cost);
    spot.add(taken);
    on_demand.add(kept);
  }
  CHECK(spot.notices > 1.0);
  CHECK(spot.interrupted > 1.0);
  CHECK(on_demand.interrupted == 0.0);
  show("spot", spot);
  show("on demand", on_demand);
}

TEST_CASE("A limit for the cost is kept whatever is taken away, and what was trained is kept") {
  for (std::uint64_t seed = 0; seed < kSpotJobs; ++seed) {
    INFO("seed " << seed);
    JobScenario scenario = four_workers(kSpot, seed);
    scenario.config.stop.max_cost = 0.01;
    scenario.model.epochs = 1000.0;
    const JobOutcome outcome = SimulatedJob(scenario).run();
    CHECK(outcome.faults == std::vector<std::string>{});
    CHECK(outcome.status == Status::kMaxCost);
    CHECK(outcome.cost <= scenario.config.stop.max_cost);
    CHECK(outcome.cost > 0.9 * scenario.config.stop.max_cost);
    CHECK(outcome.last_checkpoint == outcome.iterations);
  }
}

TEST_CASE("Jobs that search on spot machines settle, reach their target, and cost less") {
  Market market = kSpot;
  market.mean_life_seconds = 1200.0;
  Sums spot, on_demand;
  std::uint64_t cheaper = 0, settled = 0;
  for (std::uint64_t seed = 0; seed < kSpotJobs; ++seed) {
    INFO("seed " << seed);
    SimulatedJob job(searching(market, seed));
    const JobOutcome taken = job.run();
    const JobOutcome kept = SimulatedJob(searching(kOnDemand, seed)).run();
    check(taken);
    check(kept);
    cheaper += taken.cost < kept.cost ? 1 : 0;
    const std::vector<LoggedEvent> events = job.events();
    settled += std::ranges::any_of(events, [](const LoggedEvent& logged) {
      const auto* step = std::get_if<fact::SearchStep>(&logged.event);
      return step != nullptr && step->phase == fact::SearchPhase::kSettled;
    });
    const JobConfig config = read_resolved_config(job.folder() / "config.json");
    SearchSetting setting{
        config, search_grid(config.search), {}, machine_pool(config, job.catalogue())};
    AdvisorReplay replay = search_replay([&](const fact::Start&) { return setting; });
    for (const LoggedEvent& logged : events) CHECK(replay.add(logged).value_or("") == "");
    spot.add(taken);
    on_demand.add(kept);
  }
  CHECK(cheaper == kSpotJobs);
  CHECK(settled == kSpotJobs);
  show("spot, with a search", spot);
  show("on demand, with a search", on_demand);
}

}  // namespace scavenger::elastic
