// Fifty jobs each on machines that are taken away at random: what they cost beside machines that
// are not, and that nothing is lost but what was in flight.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "elastic/decisions/decision_replay.h"
#include "elastic/search/search_replay.h"
#include "test/simulation/spot_cluster.h"
#include "test/support/temporary_folder.h"

namespace scavenger::elastic {
namespace {

constexpr std::uint64_t kJobs = 50;
constexpr Market kOnDemand{.price_per_hour = 0.10};
constexpr Market kSpot{.price_per_hour = 0.03, .mean_life_seconds = 300.0};

JobConfig four_workers() {
  JobConfig config;
  config.name = "spot";
  config.cluster.workers = 4;
  config.batch_size = 256;
  return config;
}

// What holds for every job, wherever it ran.
void check(const JobOutcome& outcome) {
  CHECK(outcome.end.status == Status::kTargetReached);
  CHECK(outcome.iterations_begun_again <= outcome.losses_in_flight);
  CHECK(outcome.last_checkpoint == outcome.iterations);
  CHECK(outcome.charged_per_hour_after == 0.0);
}

struct Sums {
  double seconds = 0.0, cost = 0.0, machines = 0.0, notices = 0.0, losses = 0.0, again = 0.0,
         iterations = 0.0;
  double dearest = 0.0;

  void add(const JobOutcome& outcome) {
    seconds += outcome.seconds / kJobs;
    cost += outcome.cost / kJobs;
    machines += static_cast<double>(outcome.machines) / kJobs;
    notices += static_cast<double>(outcome.notices) / kJobs;
    losses += static_cast<double>(outcome.losses_in_flight) / kJobs;
    again += static_cast<double>(outcome.iterations_begun_again) / kJobs;
    iterations += static_cast<double>(outcome.iterations) / kJobs;
    dearest = std::max(dearest, outcome.cost);
  }
};

void show(const std::string& name, const Sums& mean) {
  WARN("means of " << kJobs << " jobs, " << name << ": " << mean.seconds << " s, $" << mean.cost
                   << " (at most $" << mean.dearest << "), " << mean.iterations << " iterations, "
                   << mean.again << " of them begun again, " << mean.machines << " machines, "
                   << mean.notices << " with notice, " << mean.losses << " lost in flight");
}

}  // namespace

TEST_CASE(
    "Jobs on four spot machines reach their target, lose no iteration but those in flight, and "
    "cost less") {
  Sums spot, on_demand;
  for (std::uint64_t seed = 0; seed < kJobs; ++seed) {
    INFO("seed " << seed);
    const JobOutcome taken = SpotCluster(four_workers(), {}, 20.0, kSpot, seed).run();
    const JobOutcome kept = SpotCluster(four_workers(), {}, 20.0, kOnDemand, seed).run();
    check(taken);
    check(kept);
    CHECK(taken.seconds > 2.0 * kSpot.mean_life_seconds);
    CHECK(taken.machines > 4);
    CHECK(taken.cost < kept.cost);
    CHECK(kept.iterations_begun_again == 0);
    spot.add(taken);
    on_demand.add(kept);
  }
  CHECK(spot.notices > 1.0);
  CHECK(spot.losses > 1.0);
  CHECK(spot.again > 0.5 * spot.losses);  // a loss does interrupt an iteration
  show("spot", spot);
  show("on demand", on_demand);
}

TEST_CASE("A limit for the cost is kept whatever is taken away, and what was trained is kept") {
  JobConfig config = four_workers();
  config.stop.max_cost = 0.01;
  for (std::uint64_t seed = 0; seed < kJobs; ++seed) {
    INFO("seed " << seed);
    const JobOutcome outcome = SpotCluster(config, {}, 1000.0, kSpot, seed).run();
    CHECK(outcome.end.status == Status::kMaxCost);
    CHECK(outcome.cost <= config.stop.max_cost);
    CHECK(outcome.cost > 0.9 * config.stop.max_cost);
    CHECK(outcome.last_checkpoint == outcome.iterations);
  }
}

TEST_CASE("Jobs that search on spot machines settle, reach their target, and cost less") {
  const JobConfig config = searching_config(SearchMode::kPartial, Policy::kKnee);
  Market market = kSpot;
  market.mean_life_seconds = 1200.0;
  Sums spot, on_demand;
  std::uint64_t cheaper = 0, settled = 0;
  for (std::uint64_t seed = 0; seed < kJobs; ++seed) {
    INFO("seed " << seed);
    SpotCluster cluster(config, {}, 40.0, market, seed);
    const JobOutcome taken = cluster.run();
    const JobOutcome kept = SpotCluster(config, {}, 40.0, kOnDemand, seed).run();
    check(taken);
    check(kept);
    cheaper += taken.cost < kept.cost ? 1 : 0;
    settled += std::ranges::any_of(cluster.events(), [](const LoggedEvent& logged) {
      const auto* step = std::get_if<fact::SearchStep>(&logged.event);
      return step != nullptr && step->phase == fact::SearchPhase::kSettled;
    });
    SearchReplay replay(cluster.setting());
    for (const LoggedEvent& logged : cluster.events()) REQUIRE(replay.add(logged) == std::nullopt);
    spot.add(taken);
    on_demand.add(kept);
  }
  CHECK(cheaper == kJobs);
  CHECK(settled == kJobs);
  show("spot, with a search", spot);
  show("on demand, with a search", on_demand);
}

TEST_CASE("A replay of what the controller was told decides the same, for every simulated job") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    INFO("seed " << seed);
    const TemporaryFolder folder;
    const bool searches = seed % 2 == 1;
    const JobConfig config =
        searches ? searching_config(SearchMode::kAdaptive, Policy::kMinimumCost) : four_workers();
    SpotCluster(config, {}, 5.0, kSpot, seed, folder.path()).run();
    const ReplayedDecisions replayed = replay_decisions(folder.path());
    CHECK(replayed.differences.empty());
    CHECK(replayed.inputs > 1000);
    CHECK(replayed.decisions > 100);
  }
}

}  // namespace scavenger::elastic
