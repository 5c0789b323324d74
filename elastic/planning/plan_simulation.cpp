#include "elastic/planning/plan_simulation.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "perfmodel/search/search_simulator.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

constexpr double kIterationScatter = 0.05;

perfmodel::SimulatedJob truth_of(const perfmodel::PlanRequest& request) {
  std::map<double, std::pair<double, double>> epochs, noise;  // of B: sum and count
  for (const perfmodel::EpochObservation& o : request.epochs) {
    epochs[o.global_batch].first += o.epochs;
    epochs[o.global_batch].second += 1.0;
  }
  for (const perfmodel::NoiseObservation& o : request.noise) {
    noise[o.global_batch].first += o.normalised_noise;
    noise[o.global_batch].second += 1.0;
  }
  perfmodel::SimulatedJob job;
  for (const perfmodel::TimeObservation& o : request.times) {
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
perfmodel::StoredModel model_of(const perfmodel::SimulatedJob& job) {
  std::vector<perfmodel::TimeObservation> times;
  std::vector<perfmodel::EpochObservation> epochs;
  std::vector<perfmodel::NoiseObservation> noise;
  for (const perfmodel::TruthPoint& point : job.truth) {
    times.push_back({point.configuration, point.iteration_seconds});
    epochs.push_back({point.configuration.global_batch, point.epochs});
    noise.push_back({point.configuration.global_batch, point.normalised_noise});
  }
  return {perfmodel::TimeModel(times), perfmodel::choose_statistical_model(epochs, noise).model};
}

}  // namespace

std::string simulation_text(const perfmodel::PlanRequest& request,
                            std::span<const perfmodel::PlanRequest> others,
                            const SimulationOptions& options) {
  const int seeds = options.seeds;
  const perfmodel::SimulatedJob job = truth_of(request);
  perfmodel::SearchPlan plan;
  plan.policy = request.policy;
  plan.constraints = request.constraints;
  plan.resize_seconds = options.resize_seconds;
  plan.cold_start_iterations = options.cold_start_iterations;
  for (const perfmodel::TruthPoint& point : job.truth)
    plan.prior_epochs.push_back({point.configuration.global_batch, point.epochs});
  const perfmodel::StoredModel own = model_of(job);
  std::vector<perfmodel::StoredModel> of_others;
  for (const perfmodel::PlanRequest& other : others) of_others.push_back(model_of(truth_of(other)));
  std::string text = fmt::format(
      "{} configurations are the truth; {} seeds; policy {}; {} s per "
      "resize; epochs of earlier runs are known\n{:<10} {:>10} {:>10} "
      "{:>10} {:>14} {:>14} {:>16}\n",
      job.truth.size(), seeds, name_of(plan.policy), options.resize_seconds, "search", "measured",
      "regret", "worst", "time overhead", "cost overhead", "oracle (K, B)");
  constexpr std::array<std::pair<const char*, perfmodel::SearchMode>, 5> kModes{
      {{"full", perfmodel::SearchMode::kFull},
       {"partial", perfmodel::SearchMode::kPartial},
       {"adaptive", perfmodel::SearchMode::kAdaptive},
       {"none", perfmodel::SearchMode::kNone},
       {"universal", perfmodel::SearchMode::kUniversal}}};
  for (const auto& [name, mode] : kModes) {
    const bool from_others = mode == perfmodel::SearchMode::kUniversal;
    if (from_others && of_others.empty()) continue;
    plan.mode = mode;
    plan.stored = from_others ? std::span<const perfmodel::StoredModel>(of_others)
                              : std::span<const perfmodel::StoredModel>(&own, 1);
    double regret = 0.0, worst = 0.0, time = 0.0, cost = 0.0, measured = 0.0;
    perfmodel::Configuration oracle;
    for (int seed = 1; seed <= seeds; ++seed) {
      const perfmodel::SearchOutcome outcome =
          perfmodel::simulate_search(job, plan, static_cast<std::uint64_t>(seed));
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

}  // namespace scavenger::elastic
