#include "elastic/search/search.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "elastic/search/machine_pool.h"
#include "elastic/search/search_replay.h"
#include "runtime/base/error.h"
#include "test/unit/elastic/search/virtual_job.h"

namespace scavenger::elastic {
namespace {

// How much longer a whole job takes there than at the best candidate.
double time_regret(const VirtualJob& job, const fact::SearchStep& chosen) {
  double best = std::numeric_limits<double>::infinity();
  for (const perfmodel::Configuration& candidate : job.setting().candidates)
    best = std::min(best, job.truth.job_seconds(candidate.workers, candidate.global_batch));
  return job.truth.job_seconds(chosen.workers, chosen.batch_size) / best - 1.0;
}

double cost_regret(const VirtualJob& job, const fact::SearchStep& chosen) {
  const auto cost = [&](double workers, double batch) {
    return workers * job.truth.job_seconds(workers, batch);
  };
  double best = std::numeric_limits<double>::infinity();
  for (const perfmodel::Configuration& candidate : job.setting().candidates)
    best = std::min(best, cost(candidate.workers, candidate.global_batch));
  return cost(chosen.workers, chosen.batch_size) / best - 1.0;
}

std::string first_reason(const VirtualJob& job) {
  return job.numbers().search_steps.latest.front().fact.reason;
}

MachineCatalogue large_and_small() {
  const auto price = [](double dollars) { return MachinePrice{.per_hour = dollars, .source = {}}; };
  return {
      {{.type = "large", .cores = 2.0, .on_demand = price(0.4), .spot = price(0.1), .count = 2},
       {.type = "small", .cores = 0.5, .on_demand = price(0.1), .spot = price(0.03), .count = 6}}};
}

// A job of another kind each time.
Truth some_truth(std::uint64_t seed) {
  RandomStream stream(seed, "truth");
  Truth truth;
  truth.seconds_per_sample = 1e-3 * std::exp(stream.normal());
  truth.seconds_per_worker = 1e-2 * std::exp(stream.normal());
  truth.noise_scale = 300.0 * std::exp(stream.normal());
  return truth;
}

perfmodel::ModelRecord record_of_truth(const Truth& truth, const std::string& architecture) {
  perfmodel::ModelRecord record;
  record.signature = {architecture, 1000, "digits", 60000, "sgd"};
  record.name = "earlier";
  for (const double k : {1.0, 2.0, 8.0})
    for (const double b : {64.0, 512.0})
      record.times.push_back({"job", "machine", k, b, truth.iteration_seconds(k, b), 1e-5, 100.0});
  record.noise.push_back({"job", 1, 2.0, 64.0, truth.noise_scale, truth.noise_scale * 0.9,
                          truth.noise_scale * 1.1, 0.0, 500.0});
  return record;
}

}  // namespace

TEST_CASE("A search waits for the noise, measures the corners, smallest first, and settles") {
  VirtualJob job(searching_config(SearchMode::kPartial, Policy::kMinimumTime), {}, 1);
  job.settle();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> measured;
  for (const auto& timed : job.numbers().search_steps.latest)
    if (timed.fact.phase == fact::SearchPhase::kProfiling)
      measured.emplace_back(timed.fact.workers, timed.fact.batch_size);
  CHECK(job.numbers().search_steps.latest.front().fact.phase == fact::SearchPhase::kColdStart);
  CHECK(measured ==
        std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 512}, {8, 64}, {8, 512}});
  CHECK(job.last_step().phase == fact::SearchPhase::kSettled);
  REQUIRE(job.numbers().prediction);
  CHECK(job.numbers().prediction->fact.candidates.size() == 16);
  CHECK(job.numbers().prediction->fact.relative);
}

TEST_CASE("Where iterations scatter, less exact means suffice, and none is dear") {
  Truth truth;
  truth.scatter = 0.4;
  constexpr int kJobs = 20;
  double regret_sum = 0.0;
  for (int seed = 0; seed < kJobs; ++seed) {
    VirtualJob job(searching_config(SearchMode::kPartial, Policy::kMinimumTime), truth,
                   static_cast<std::uint64_t>(seed));
    job.settle();
    const auto& phases = job.numbers().phases;
    CAPTURE(seed);
    REQUIRE(phases.size() >= 4);
    // 2 % would take 400 iterations, of each corner.
    for (std::size_t corner = 1; corner < 4; ++corner) {
      const std::uint64_t end = corner + 1 < phases.size()
                                    ? phases[corner + 1].membership.first_iteration
                                    : job.numbers().iterations;
      CHECK(end - phases[corner].membership.first_iteration < 120);
    }
    regret_sum += time_regret(job, job.last_step());
  }
  CHECK(regret_sum / kJobs < 0.1);
}

TEST_CASE("Each kind of search comes near the best configuration of jobs of any kind") {
  const SearchMode mode = GENERATE(SearchMode::kPartial, SearchMode::kAdaptive, SearchMode::kFull);
  constexpr int kJobs = 20;
  double time_sum = 0.0, cost_sum = 0.0, worst = 0.0;
  for (std::uint64_t seed = 0; seed < kJobs; ++seed) {
    const Truth truth = some_truth(seed);
    VirtualJob fast(searching_config(mode, Policy::kMinimumTime), truth, seed);
    VirtualJob cheap(searching_config(mode, Policy::kMinimumCost), truth, seed);
    // A move that gains little is not made: that much may be missing.
    time_sum += time_regret(fast, fast.settle());
    cost_sum += cost_regret(cheap, cheap.settle());
    worst = std::max(
        {worst, time_regret(fast, fast.last_step()), cost_regret(cheap, cheap.last_step())});
    CHECK(fast.last_step().phase == fact::SearchPhase::kSettled);
    if (mode == SearchMode::kFull) CHECK(fast.measured() == 16);
    if (mode == SearchMode::kAdaptive) CHECK(fast.measured() <= 9);
    if (mode == SearchMode::kPartial) CHECK(fast.measured() <= 5);  // four corners and the choice
  }
  CAPTURE(worst);
  CHECK(time_sum / kJobs < 0.04);
  CHECK(cost_sum / kJobs < 0.04);
  CHECK(worst < 0.25);
}

TEST_CASE("What has settled is left alone while nothing changes") {
  VirtualJob job(searching_config(SearchMode::kPartial, Policy::kMinimumTime), {}, 3);
  job.settle();
  const auto steps = job.numbers().search_steps.total;
  job.train(600.0);
  CHECK(job.numbers().search_steps.total == steps);
}

TEST_CASE("A machine that has become slower is measured again, and the choice follows") {
  Truth truth;
  truth.seconds_per_worker = 2e-3;
  VirtualJob job(searching_config(SearchMode::kPartial, Policy::kMinimumTime), truth, 4);
  CHECK(job.settle().workers == 8);
  job.train(300.0);
  job.truth.seconds_per_worker = 2e-1;  // the network is shared now
  job.train(5000.0);
  CHECK(job.last_step().phase == fact::SearchPhase::kSettled);
  CHECK(job.last_step().workers < 8);
  CHECK(time_regret(job, job.last_step()) < 0.1);
}

TEST_CASE("The choice follows the gradient noise as it grows") {
  Truth truth;
  truth.noise_scale = 20.0;
  VirtualJob job(searching_config(SearchMode::kPartial, Policy::kMinimumTime), truth, 5);
  const std::uint32_t before = job.settle().batch_size;
  job.truth.noise_scale = 20000.0;
  job.train(10000.0);
  CHECK(job.last_step().batch_size > before);
}

TEST_CASE("One worker that measures its noise rarely sees it grow all the same") {
  Truth truth;
  truth.noise_scale = 20.0;
  truth.fixed_seconds = 0.1;
  truth.half_batches_every = 100;
  VirtualJob job(searching_config(SearchMode::kPartial, Policy::kMinimumCost), truth, 5);
  const fact::SearchStep before = job.settle();
  REQUIRE(before.workers == 1);
  const double settled_seconds = job.numbers().seconds;
  job.truth.noise_scale = 500.0;
  job.train(5.0 * settled_seconds);
  CHECK_FALSE(job.numbers().noise.numbers()->estimate.stable);
  CHECK(job.last_step().workers == 1);
  CHECK(job.last_step().batch_size > before.batch_size);
}

TEST_CASE("Without a search, the choice comes from the store") {
  Truth truth;
  truth.noise_scale = 2000.0;
  Truth other = truth;
  other.noise_scale = 3.0;
  const std::vector<perfmodel::ModelRecord> stored{record_of_truth(truth, "a"),
                                                   record_of_truth(other, "b")};
  SECTION("of the most similar model") {
    VirtualJob job(searching_config(SearchMode::kNone, Policy::kMinimumTime), truth, 6, stored);
    job.settle();
    CHECK(job.measured() == 2);  // where it began, and the choice
    CHECK(time_regret(job, job.last_step()) < 0.05);
  }
  SECTION("of all models") {
    VirtualJob job(searching_config(SearchMode::kUniversal, Policy::kMinimumTime), truth, 6,
                   stored);
    job.settle();
    CHECK(job.measured() <= 2);
    CHECK(job.numbers().prediction->fact.time_form == "mean of 2 models");
  }
  SECTION("which may be empty: then the corners are measured") {
    VirtualJob job(searching_config(SearchMode::kNone, Policy::kMinimumTime), truth, 6);
    job.settle();
    CHECK(job.measured() >= 4);
    CHECK(time_regret(job, job.last_step()) < 0.1);
    CHECK(first_reason(job).starts_with("the store says too little (it has no models)"));
  }
  SECTION("which may lack the noise of the one model that is alike: that is said") {
    perfmodel::ModelRecord silent = stored[0];
    silent.noise.clear();
    VirtualJob job(searching_config(SearchMode::kNone, Policy::kMinimumTime), truth, 6, {silent});
    job.settle();
    CHECK(job.measured() >= 4);
    CHECK(first_reason(job).find("earlier (" + silent.signature.id() +
                                 "): epochs are known at fewer") != std::string::npos);
  }
  SECTION("which may have one model only, where the mean of all is wanted") {
    VirtualJob job(searching_config(SearchMode::kUniversal, Policy::kMinimumTime), truth, 6,
                   {stored[0]});
    job.settle();
    CHECK(first_reason(job).find("1 of its 1 models say enough, and two are needed") !=
          std::string::npos);
  }
}

TEST_CASE("Limits on time and cost hold for the choice where epochs are known") {
  Truth truth;
  perfmodel::ModelRecord earlier = record_of_truth(truth, "a");
  for (const double b : {64.0, 256.0, 512.0})
    earlier.epochs.push_back(
        {"job", "test accuracy 0.9", 1.0, b, 4.0 * (1.0 + b / truth.noise_scale), 0.0});
  JobConfig config = searching_config(SearchMode::kPartial, Policy::kMinimumTime);
  VirtualJob free(config, truth, 7, {earlier});
  const std::uint32_t fastest = free.settle().workers;
  CHECK_FALSE(free.numbers().prediction->fact.relative);
  double least_cost = std::numeric_limits<double>::infinity();
  for (const auto& candidate : free.numbers().prediction->fact.candidates)
    least_cost = std::min(least_cost, candidate.cost);
  config.stop.max_cost = 1.05 * least_cost;
  VirtualJob bounded(config, truth, 7, {earlier});
  CHECK(bounded.settle().workers < fastest);
  config.stop.max_cost = 0.5 * least_cost;
  VirtualJob impossible(config, truth, 7, {earlier});
  impossible.settle();
  CHECK_THAT(impossible.numbers().prediction->fact.reason, Catch::Contains("max_cost"));
}

TEST_CASE("Who resizes by hand ends the search") {
  VirtualJob job(searching_config(SearchMode::kPartial, Policy::kMinimumTime), {}, 8);
  job.train(10.0);
  for (RunEvent& event : end_search(job.numbers(), 2, 64, "resized by the user")) job.log(event);
  const auto steps = job.numbers().search_steps.total;
  job.train(600.0);
  CHECK(job.numbers().search_steps.total == steps);
  CHECK(end_search(job.numbers(), 2, 64, "again").empty());
}

TEST_CASE(
    "A replay of the log makes the same decisions, and a log that was changed does not pass") {
  const SearchMode mode = GENERATE(SearchMode::kPartial, SearchMode::kAdaptive);
  VirtualJob job(searching_config(mode, Policy::kKnee), some_truth(9), 9);
  job.settle();
  job.truth.slower = 3.0;
  job.train(3000.0);
  AdvisorReplay replay = search_replay(job.setting_of());
  for (const LoggedEvent& logged : job.events()) REQUIRE(replay.add(logged) == std::nullopt);
  CHECK(replay.decisions() >= job.numbers().search_steps.total);

  const auto differences = [&](const auto& change) {
    AdvisorReplay changed = search_replay(job.setting_of());
    int found = 0;
    for (LoggedEvent logged : job.events()) {
      if (!change(logged)) continue;
      if (changed.add(logged)) ++found;
    }
    return found;
  };
  CHECK(differences([](LoggedEvent& logged) {
          if (auto* step = std::get_if<fact::SearchStep>(&logged.event)) ++step->batch_size;
          return true;
        }) > 0);
  bool dropped = false;
  CHECK(differences([&](LoggedEvent& logged) {
          const bool drops = !dropped && std::holds_alternative<fact::Prediction>(logged.event);
          dropped |= drops;
          return !drops;
        }) > 0);
}

TEST_CASE("A job that was killed goes on with its search where it was") {
  VirtualJob job(searching_config(SearchMode::kFull, Policy::kMinimumTime), {}, 10);
  while (job.numbers().search_steps.total < 8) job.train(1.0);
  RunSummary recalled;
  for (const LoggedEvent& logged : job.events()) recalled.apply(logged);
  const auto live = continue_search(job.setting(), job.numbers());
  const auto again = continue_search(job.setting(), recalled.numbers());
  REQUIRE(live.size() == again.size());
  CHECK(recalled.numbers().search_steps.total == job.numbers().search_steps.total);
}

TEST_CASE(
    "Where workers get unequal machines the others are predicted right, and their prices count") {
  JobConfig config = searching_config(SearchMode::kPartial, Policy::kMinimumCost);
  config.provider.type = ProviderType::kEmulated;
  Truth truth;
  truth.scatter = 0.01;
  truth.seconds_per_worker = 1e-6;  // corners do not show how synchronisation grows in between
  truth.speeds = {1.0, 1.0, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25};
  VirtualJob job(config, truth, 12, {}, machine_pool(config, large_and_small()));
  job.settle();
  REQUIRE(job.numbers().prediction);
  for (const fact::PredictedConfiguration& one : job.numbers().prediction->fact.candidates) {
    CAPTURE(one.workers, one.batch_size);
    CHECK(one.iteration_seconds ==
          Approx(truth.iteration_seconds(one.workers, one.batch_size)).epsilon(0.06));
    const double price = one.workers <= 2 ? 0.4 * one.workers : 0.8 + 0.1 * (one.workers - 2);
    CHECK(one.cost == Approx(one.seconds * price / 3600.0));
  }
  // Two that are as fast as eight with slow ones among them.
  CHECK(job.last_step().workers <= 2);
}

TEST_CASE("Candidates are filled in from the cluster and the data, and too few are refused") {
  JobConfig config;
  config.cluster.workers = 3;
  config.batch_size = 100;
  resolve_search(8, 450, config);
  CHECK(config.search.workers == std::vector<std::uint32_t>{1, 2, 3, 4, 8});
  CHECK(config.search.batch_sizes == std::vector<std::uint32_t>{100, 200, 400});
  CHECK(search_grid(config.search).size() == 15);
  config.search.max_local_batch = 100;
  CHECK(search_grid(config.search).size() == 5 + 4 + 2);
  config.search.workers = {2};
  CHECK_THROWS_AS(search_grid(config.search), ConfigError);
  config.search.workers = {1, 2};
  config.search.batch_sizes = {1};
  CHECK_THROWS_WITH(search_grid(config.search), Catch::Contains("too few"));
  config.search.batch_sizes = {100};
  CHECK_THROWS_WITH(search_grid(config.search), Catch::Contains("too few"));
  config.search.mode = SearchMode::kAuto;  // which fits nothing
  CHECK(search_grid(config.search).size() == 2);
}

TEST_CASE("Where nobody says it, what the workers' memory has room for bounds their shares") {
  SearchConfig search;
  search.workers = {1, 2, 4};
  search.batch_sizes = {64, 128, 256};
  const auto grid = search_grid(search);
  CHECK(candidates_in_memory(grid, search, std::nullopt) == grid);
  CHECK(candidates_in_memory(grid, search, 256) == grid);
  CHECK(candidates_in_memory(grid, search, 64).size() == 1 + 2 + 3);
  CHECK(candidates_in_memory(grid, search, 20) == grid);  // too few: passes are smaller then
  search.max_local_batch = 1000;
  CHECK(candidates_in_memory(grid, search, 64) == grid);

  VirtualJob job(searching_config(SearchMode::kFull, Policy::kMinimumTime, {1, 2}), {}, 12);
  job.log(fact::SampleMemory{0, 1 << 20, 128});
  job.settle();
  for (const auto& timed : job.numbers().search_steps.latest)
    CHECK(timed.fact.batch_size / timed.fact.workers <= 128);
  CHECK(job.numbers().search_steps.total > 3);
}

}  // namespace scavenger::elastic
