// The coordinator in a simulated world (test/simulation): what it wires together.
#include "elastic/coordinator/coordinator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/error.h"
#include "runtime/config/config_file.h"
#include "test/simulation/simulated_job.h"

namespace scavenger::elastic {
namespace {

// Two workers on machines that live for ever and come when they are asked for.
JobScenario calm_job() {
  JobScenario scenario;
  scenario.config = simulated_config(2, 64);
  scenario.market.refusal_share = 0.0;
  scenario.market.shortest_start_seconds = scenario.market.longest_start_seconds = 20.0;
  scenario.model.epochs = 20.0;
  scenario.model.samples = 4096;
  return scenario;
}

template <typename Fact>
std::vector<Fact> facts_of(const SimulatedJob& job) {
  std::vector<Fact> facts;
  for (const LoggedEvent& logged : job.events())
    if (const auto* fact = std::get_if<Fact>(&logged.event)) facts.push_back(*fact);
  return facts;
}

}  // namespace

TEST_CASE("A job reaches its target, keeps its last weights, and returns its machines") {
  SimulatedJob job(calm_job());

  const JobOutcome outcome = job.run();

  CHECK(outcome.faults == std::vector<std::string>{});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.status == Status::kTargetReached);
  CHECK(outcome.last_checkpoint == outcome.iterations);
  CHECK(outcome.machines == 2);
  CHECK(facts_of<fact::TargetReached>(job).size() == 1);
  CHECK(facts_of<fact::ProcessJoined>(job).size() == 4);  // two shards, too
}

TEST_CASE("A worker that is lost is replaced, and the job goes on from where it was") {
  JobScenario scenario = calm_job();
  SimulatedJob job(scenario);
  job.loop().after(90.0, [&] { job.cluster().lose_machine("m1"); });

  const JobOutcome outcome = job.run();

  CHECK(outcome.faults == std::vector<std::string>{});
  CHECK(outcome.status == Status::kTargetReached);
  const auto recoveries = facts_of<fact::Recovery>(job);
  REQUIRE(recoveries.size() == 2);  // without it, and with the one in its place
  CHECK(recoveries[0].lost.size() == 1);
  CHECK(recoveries[0].iterations_lost == 0);
  CHECK(recoveries[1].lost.empty());
  CHECK(outcome.workers == 2);
  CHECK(facts_of<fact::ProcessLost>(job).size() == 1);
}

TEST_CASE("A lost shard's state comes back from the last checkpoint") {
  JobScenario scenario = calm_job();
  scenario.config.checkpoint.every_iterations = 10;
  SimulatedJob job(scenario);
  job.loop().after(90.0, [&] { job.cluster().kill({Role::kShard, 1}, "was shot"); });

  const JobOutcome outcome = job.run();

  CHECK(outcome.faults == std::vector<std::string>{});
  CHECK(outcome.status == Status::kTargetReached);
  const auto memberships = facts_of<fact::Membership>(job);
  REQUIRE(memberships.size() == 2);
  CHECK(memberships[1].first_iteration > 0);
}

TEST_CASE("A resize that somebody asks for is made, and the folder's configuration remembers it") {
  JobScenario scenario = calm_job();
  scenario.config.stop.target->value = 0.99;  // out of reach
  scenario.config.stop.max_epochs = 20.0;
  scenario.commands = {{100.0, command::Resize{3, 96}}};
  SimulatedJob job(scenario);

  const JobOutcome outcome = job.run();

  CHECK(outcome.faults == std::vector<std::string>{});
  CHECK(outcome.status == Status::kMaxEpochs);
  CHECK(outcome.workers == 3);
  CHECK(outcome.batch_size == 96);
  const JobConfig config = read_resolved_config(RunFolder{job.folder()}.config());
  CHECK(config.cluster.workers == 3);
  CHECK(config.batch_size == 96);
}

TEST_CASE("What cannot be obeyed is refused, and what people ask is answered") {
  SimulatedJob job(calm_job());
  nlohmann::json status;
  bool refused = false;
  job.loop().after(101.0, [&] {
    status = job.coordinator().obey(command::Status{});
    try {
      job.coordinator().obey(command::Resize{5, 4});
    } catch (const InputError&) {
      refused = true;
    }
  });

  CHECK(job.run().status == Status::kTargetReached);

  CHECK(status.at("workers") == 2);
  CHECK(status.at("state") == "training");
  CHECK(refused);
}

TEST_CASE("The first interrupt ends at a boundary with a checkpoint, the second at once") {
  JobScenario scenario = calm_job();
  scenario.model.epochs = 1000.0;
  SECTION("one") {
    SimulatedJob job(scenario);
    job.loop().after(100.0, [&] { job.coordinator().interrupt(true); });
    const JobOutcome outcome = job.run();
    CHECK(outcome.faults == std::vector<std::string>{});
    CHECK(outcome.exit_code == 130);
    CHECK(outcome.last_checkpoint == outcome.iterations);
  }
  SECTION("two") {
    SimulatedJob job(scenario);
    job.loop().after(100.0, [&] {
      job.coordinator().interrupt(true);
      job.coordinator().interrupt(true);
    });
    const JobOutcome outcome = job.run();
    CHECK(outcome.exit_code == 130);
    CHECK(outcome.reason == "ended at once by the user");
    CHECK(outcome.seconds < 110.0);
  }
  SECTION("before there is anything") {
    SimulatedJob job(scenario);
    job.loop().after(0.0, [&] { job.coordinator().interrupt(true); });
    const JobOutcome outcome = job.run();
    CHECK(outcome.exit_code == 130);
    CHECK(outcome.iterations == 0);
  }
}

TEST_CASE("What a handler throws ends the job in order, and its machines go back") {
  SimulatedJob job(calm_job());
  job.loop().after(100.0, [] { throw std::runtime_error("a coroutine was lost"); });

  const JobOutcome outcome = job.run();

  CHECK(outcome.exit_code == 1);
  CHECK(outcome.reason.find("a coroutine was lost") != std::string::npos);
  CHECK(outcome.faults == std::vector<std::string>{});
}

TEST_CASE("A job whose weights cannot be written fails, and says what to do") {
  JobScenario scenario = calm_job();
  scenario.disk.refusal_share = 1.0;

  const JobOutcome outcome = SimulatedJob(std::move(scenario)).run();

  CHECK(outcome.status == Status::kFailed);
  CHECK(outcome.reason.find("No space left on device") != std::string::npos);
  CHECK(outcome.reason.find("make room, then go on by --resume") != std::string::npos);
}

}  // namespace scavenger::elastic
