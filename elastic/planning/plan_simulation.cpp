#include "elastic/planning/plan_simulation.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "perfmodel/search_simulator.h"
#include "runtime/base/error.h"

namespace scavenger {
namespace {

using namespace perfmodel;

constexpr double kIterationScatter = 0.05;

SimulatedJob truth_of(const PlanRequest& request) {
  std::map<double, std::pair<double, double>> epochs, noise;  // of B: sum and count
  for (const EpochObservation& o : request.epochs) {
    epochs[o.global_batch].first += o.epochs;
    epochs[o.global_batch].second += 1.0;
  }
  for (const NoiseObservation& o : request.noise) {
    noise[o.global_batch].first += o.normalised_noise;
    noise[o.global_batch].second += 1.0;
  }
  SimulatedJob job;
  for (const TimeObservation& o : request.times) {
    const double batch = o.configuration.global_batch;
    if (epochs.count(batch) == 0 || noise.count(batch) == 0) continue;
    job.truth.push_back({o.configuration, o.seconds, noise[batch].first / noise[batch].second,
                         epochs[batch].first / epochs[batch].second});
  }
  if (job.truth.size() < 4)
    throw DataError(
        {.what = fmt::format("only {} configurations have seconds per iteration, epochs "
                             "and noise",
                             job.truth.size()),
         .where = "simulation",
         .remedy = "give the columns iteration_seconds, epochs and noise for at least "
                   "four, with two K and two B"});
  job.data_set_samples = request.samples_per_epoch;
  job.price = request.price;
  job.iteration_scatter = kIterationScatter;
  job.noise_scatter = 0.02;
  return job;
}

// Everything that is known of a job, as a store would have it after the job.
StoredModel model_of(const SimulatedJob& job) {
  std::vector<TimeObservation> times;
  std::vector<EpochObservation> epochs;
  std::vector<NoiseObservation> noise;
  for (const TruthPoint& point : job.truth) {
    times.push_back({point.configuration, point.iteration_seconds});
    epochs.push_back({point.configuration.global_batch, point.epochs});
    noise.push_back({point.configuration.global_batch, point.normalised_noise});
  }
  return {TimeModel(times), choose_statistical_model(epochs, noise).model};
}

}  // namespace

std::string simulation_text(const PlanRequest& request, std::span<const PlanRequest> others,
                            const SimulationOptions& options) {
  const int seeds = options.seeds;
  const SimulatedJob job = truth_of(request);
  SearchPlan plan;
  plan.policy = request.policy;
  plan.constraints = request.constraints;
  plan.resize_seconds = options.resize_seconds;
  plan.cold_start_iterations = options.cold_start_iterations;
  for (const TruthPoint& point : job.truth)
    plan.prior_epochs.push_back({point.configuration.global_batch, point.epochs});
  const StoredModel own = model_of(job);
  std::vector<StoredModel> of_others;
  for (const PlanRequest& other : others) of_others.push_back(model_of(truth_of(other)));
  std::string text = fmt::format(
      "{} configurations are the truth; {} seeds; policy {}; {} s per "
      "resize; epochs of earlier runs are known\n{:<10} {:>10} {:>10} "
      "{:>10} {:>14} {:>14} {:>16}\n",
      job.truth.size(), seeds, name_of(plan.policy), options.resize_seconds, "search", "measured",
      "regret", "worst", "time overhead", "cost overhead", "oracle (K, B)");
  constexpr std::array<std::pair<const char*, SearchMode>, 5> kModes{
      {{"full", SearchMode::kFull},
       {"partial", SearchMode::kPartial},
       {"adaptive", SearchMode::kAdaptive},
       {"none", SearchMode::kNone},
       {"universal", SearchMode::kUniversal}}};
  for (const auto& [name, mode] : kModes) {
    const bool from_others = mode == SearchMode::kUniversal;
    if (from_others && of_others.empty()) continue;
    plan.mode = mode;
    plan.stored = from_others ? std::span<const StoredModel>(of_others)
                              : std::span<const StoredModel>(&own, 1);
    double regret = 0.0, worst = 0.0, time = 0.0, cost = 0.0, measured = 0.0;
    Configuration oracle;
    for (int seed = 1; seed <= seeds; ++seed) {
      const SearchOutcome outcome = simulate_search(job, plan, static_cast<std::uint64_t>(seed));
      regret += outcome.regret / seeds;
      worst = std::max(worst, outcome.regret);
      time += outcome.time_overhead() / seeds;
      cost += outcome.cost_overhead() / seeds;
      measured += static_cast<double>(outcome.measured) / seeds;
      oracle = outcome.oracle;
    }
    text += fmt::format("{:<10} {:>10.1f} {:>9.1f}% {:>9.1f}% {:>13.1f}% {:>13.1f}% {:>16}\n", name,
                        measured, 100.0 * regret, 100.0 * worst, 100.0 * time, 100.0 * cost,
                        fmt::format("({}, {})", oracle.workers, oracle.global_batch));
  }
  return text;
}

}  // namespace scavenger
