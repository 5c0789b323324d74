#include "perfmodel/search/search_simulator.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <ctime>

#include "runtime/base/error.h"
#include "test/unit/perfmodel/time/measured_tables.h"

namespace scavenger::perfmodel {
namespace {

// A cluster in which 8 workers and a middling batch are fastest.
SimulatedJob invented_job() {
  SimulatedJob job{.data_set_samples = 50000,
                   .price = {.worker_per_hour = 0.2, .billing = kExactBilling},
                   .iteration_scatter = 0.05,
                   .noise_scatter = 0.02};
  for (const double k : {1.0, 2.0, 4.0, 8.0, 16.0})
    for (const double b : {128.0, 256.0, 512.0, 1024.0})
      job.truth.push_back({{k, b},
                           0.05 + 0.004 * b / k + 0.02 * (k - 1),
                           (b / k + 400) / (b + 400),
                           20 * (1 + b / 400)});
  return job;
}

std::vector<EpochObservation> true_epochs(const SimulatedJob& job) {
  std::vector<EpochObservation> epochs;
  for (const TruthPoint& point : job.truth)
    epochs.push_back({point.configuration.global_batch, point.epochs});
  return epochs;
}

SimulatedJob paper_job(const std::filesystem::path& folder, const std::string& model) {
  SimulatedJob job{.data_set_samples = 50000,
                   .price = {.worker_per_hour = 0.134012, .billing = kExactBilling},
                   .iteration_scatter = 0.05,
                   .noise_scatter = 0.02};
  for (const FigurePoint& p : read_figure_points(folder, model))
    if (p.epochs > 0.0)
      job.truth.push_back(
          {{p.workers, p.global_batch}, p.iteration_seconds, p.normalised_noise, p.epochs});
  return job;
}

StoredModel model_of(const SimulatedJob& job) {
  std::vector<TimeObservation> times;
  std::vector<NoiseObservation> noise;
  for (const TruthPoint& point : job.truth) {
    times.push_back({point.configuration, point.iteration_seconds});
    noise.push_back({point.configuration.global_batch, point.normalised_noise});
  }
  return {TimeModel(times), choose_statistical_model(true_epochs(job), noise).model};
}

}  // namespace

TEST_CASE("The same seed gives the same search, another one other measurements") {
  const SimulatedJob job = invented_job();
  const SearchPlan plan{.prior_epochs = true_epochs(job)};

  const SearchOutcome once = simulate_search(job, plan, 1);
  const SearchOutcome again = simulate_search(job, plan, 1);

  CHECK(once.total_seconds == again.total_seconds);
  CHECK(once.chosen == again.chosen);
}

TEST_CASE("Every mode finds a configuration close to the best one, and its time adds up") {
  const SimulatedJob job = invented_job();
  const std::vector<StoredModel> stored{model_of(job)};
  for (const SearchMode mode : {SearchMode::kFull, SearchMode::kPartial, SearchMode::kAdaptive,
                                SearchMode::kNone, SearchMode::kUniversal})
    for (const Policy policy : {Policy::kMinimumTime, Policy::kMinimumCost}) {
      SearchPlan plan{.mode = mode, .policy = policy};
      plan.prior_epochs = true_epochs(job);
      plan.stored = stored;

      const SearchOutcome outcome = simulate_search(job, plan, 3);

      CAPTURE(static_cast<int>(mode), name_of(policy), outcome.chosen.workers);
      CHECK(outcome.regret < 0.05);
      if (policy == Policy::kMinimumTime)
        CHECK(outcome.total_seconds >= outcome.oracle_seconds * (1 - 1e-9));
      else
        CHECK(outcome.total_cost >= outcome.oracle_cost * (1 - 1e-9));
    }
}

TEST_CASE("Searching costs resizes and slow configurations; a stored model costs nothing") {
  const SimulatedJob job = invented_job();
  const std::vector<StoredModel> stored{model_of(job)};
  SearchPlan plan{.prior_epochs = true_epochs(job), .stored = stored};
  const auto outcome = [&](SearchMode mode) {
    plan.mode = mode;
    return simulate_search(job, plan, 4);
  };

  CHECK(outcome(SearchMode::kFull).measured == 20);
  CHECK(outcome(SearchMode::kPartial).measured == 4);
  CHECK(outcome(SearchMode::kAdaptive).measured == 9);
  CHECK(outcome(SearchMode::kNone).measured == 0);
  CHECK(outcome(SearchMode::kFull).time_overhead() > outcome(SearchMode::kPartial).time_overhead());
  CHECK(outcome(SearchMode::kNone).time_overhead() <= 0.05);
}

TEST_CASE("A job that ends during its search is not charged beyond its end") {
  SimulatedJob job = invented_job();
  for (TruthPoint& point : job.truth) point.epochs *= 0.01;
  SearchPlan plan{.mode = SearchMode::kFull, .prior_epochs = true_epochs(job)};
  plan.resize_seconds = 0.0;

  const SearchOutcome outcome = simulate_search(job, plan, 5);

  double slowest = 0.0;
  for (const TruthPoint& point : job.truth)
    slowest = std::max(slowest, point.epochs * job.data_set_samples /
                                    point.configuration.global_batch * point.iteration_seconds);
  CHECK(outcome.total_seconds <= slowest * (1 + 1e-9));
}

TEST_CASE("Where few workers cannot take large batches, a search measures more than the corners") {
  SimulatedJob job = invented_job();
  std::erase_if(job.truth, [](const TruthPoint& point) {
    const double local = point.configuration.global_batch / point.configuration.workers;
    return local < 64.0 || local > 128.0;
  });
  REQUIRE(job.truth.front().configuration == Configuration{1, 128});
  REQUIRE(job.truth.back().configuration == Configuration{16, 1024});

  const SearchOutcome outcome = simulate_search(job, {.prior_epochs = true_epochs(job)}, 7);

  CHECK(outcome.measured >= 3);
  CHECK(outcome.regret < 0.1);
}

TEST_CASE("Constraints that leave nothing are an error that names them") {
  const SimulatedJob job = invented_job();
  SearchPlan plan{.prior_epochs = true_epochs(job)};
  plan.constraints.max_cost = 1e-6;
  CHECK_THROWS_WITH(simulate_search(job, plan, 6), Catch::Contains("max_cost"));
}

TEST_CASE(
    "On the paper's jobs a partial search costs less than 10 % of the oracle's time and cost") {
  const auto folder = shared_data_or_skip("scavenger_paper");
  if (folder.empty()) return;
  const SimulatedJob jobs[] = {paper_job(folder, "ResNet18"), paper_job(folder, "ResNet50")};
  for (std::size_t j = 0; j < 2; ++j)
    for (const SearchMode mode : {SearchMode::kFull, SearchMode::kPartial, SearchMode::kAdaptive,
                                  SearchMode::kNone, SearchMode::kUniversal})
      for (const Policy policy : {Policy::kMinimumTime, Policy::kMinimumCost, Policy::kKnee}) {
        // No search: the job's own model. Universal: the mean of both jobs'.
        const std::vector<StoredModel> stored{model_of(jobs[j]), model_of(jobs[1 - j])};
        SearchPlan plan{.mode = mode, .policy = policy};
        plan.prior_epochs = true_epochs(jobs[j]);
        plan.stored = stored;
        double time = 0.0, cost = 0.0, regret = 0.0;
        const int searches = 20;
        for (int seed = 0; seed < searches; ++seed) {
          const SearchOutcome outcome =
              simulate_search(jobs[j], plan, static_cast<std::uint64_t>(seed));
          time += outcome.time_overhead() / searches;
          cost += outcome.cost_overhead() / searches;
          regret += outcome.regret / searches;
        }
        const char* const names[] = {"full", "partial", "adaptive", "none", "universal"};
        WARN((j == 0 ? "ResNet18 " : "ResNet50 ")
             << names[static_cast<int>(mode)] << ' ' << name_of(policy) << ": time " << 100 * time
             << " %, cost " << 100 * cost << " %, regret " << 100 * regret << " %");
        if (mode == SearchMode::kPartial && policy == Policy::kMinimumTime) CHECK(time < 0.10);
        if (mode == SearchMode::kPartial && policy == Policy::kMinimumCost) CHECK(cost < 0.10);
      }
}

TEST_CASE("How fast searches are simulated is printed") {
  const SimulatedJob job = invented_job();
  SearchPlan plan{.prior_epochs = true_epochs(job)};
  const std::clock_t start = std::clock();
  const int searches = 200;
  std::size_t measured = 0;
  for (int seed = 0; seed < searches; ++seed)
    measured += simulate_search(job, plan, static_cast<std::uint64_t>(seed)).measured;
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK(measured == 4 * searches);
  WARN(searches / seconds << " partial searches per second of processor time");
}

}  // namespace scavenger::perfmodel
