#include "perfmodel/search/search_simulator.h"

#include <algorithm>
#include <cmath>

#include "perfmodel/search/adaptive_search.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"

namespace scavenger::perfmodel {
namespace {

double iterations_to_target(const SimulatedJob& job, const TruthPoint& point) {
  return point.epochs * job.data_set_samples / point.configuration.global_batch;
}

std::vector<Candidate> true_candidates(const SimulatedJob& job) {
  std::vector<Candidate> candidates;
  for (const TruthPoint& point : job.truth) {
    const double seconds = iterations_to_target(job, point) * point.iteration_seconds;
    candidates.push_back({point.configuration, seconds,
                          cluster_cost(seconds, point.configuration.workers, job.price)});
  }
  return candidates;
}

double objective(const Candidate& candidate, Policy policy) {
  switch (policy) {
    case Policy::kMinimumTime:
      return candidate.seconds;
    case Policy::kMinimumCost:
      return candidate.cost;
    case Policy::kKnee:
      break;
  }
  return candidate.seconds * candidate.cost;
}

std::size_t choose_or_throw(std::span<const Candidate> candidates, const SearchPlan& plan) {
  const Decision decision = choose(candidates, plan.policy, plan.constraints);
  if (!decision.choice)
    throw DataError({.what = decision.infeasible->message,
                     .where = "simulated search",
                     .remedy = "loosen the constraints"});
  return decision.choice->index;
}

// A job under way: the clock, the bill, and how far training has come.
class Run final {
 public:
  Run(const SimulatedJob& job, const SearchPlan& plan, std::uint64_t seed)
      : job_(job), plan_(plan), stream_(seed, "simulated search") {}

  // Moves to the configuration and trains there; returns what the timers would say.
  TimeObservation train(std::size_t index, double iterations) {
    const TruthPoint& point = job_.truth[index];
    if (started_ && index != where_) spend(plan_.resize_seconds, point);
    started_ = true;
    where_ = index;
    const double needed = iterations_to_target(job_, point);
    const double done = std::min(iterations, (1.0 - progress_) * needed);
    progress_ += done / needed;
    spend(done * point.iteration_seconds, point);
    const double error = job_.iteration_scatter / std::sqrt(iterations);
    return {point.configuration, point.iteration_seconds * std::exp(error * stream_.normal()),
            error * point.iteration_seconds};
  }

  NoiseObservation measure_noise(std::size_t index) {
    const TruthPoint& point = job_.truth[index];
    return {point.configuration.global_batch,
            point.normalised_noise * std::exp(job_.noise_scatter * stream_.normal())};
  }

  void finish(std::size_t index) {
    const TruthPoint& point = job_.truth[index];
    if (progress_ < 1.0) train(index, (1.0 - progress_) * iterations_to_target(job_, point));
  }

  double seconds() const { return seconds_; }
  double cost() const { return cost_; }

 private:
  void spend(double seconds, const TruthPoint& point) {
    seconds_ += seconds;
    ClusterPrice price = job_.price;
    price.billing = kExactBilling;  // VMs are kept from one configuration to the next
    cost_ += cluster_cost(seconds, point.configuration.workers, price);
  }

  const SimulatedJob& job_;
  const SearchPlan& plan_;
  RandomStream stream_;
  double seconds_ = 0.0;
  double cost_ = 0.0;
  double progress_ = 0.0;  // 1: target reached
  std::size_t where_ = 0;
  bool started_ = false;
};

// What a search has measured so far.
struct Knowledge {
  std::vector<bool> measured;
  std::vector<TimeObservation> times;
  std::vector<NoiseObservation> noise;
};

void measure(std::size_t index, const SearchPlan& plan, Run& run, Knowledge& knowledge) {
  if (knowledge.times.empty()) run.train(index, plan.cold_start_iterations);
  knowledge.measured[index] = true;
  knowledge.times.push_back(run.train(index, plan.profile_iterations));
  knowledge.noise.push_back(run.measure_noise(index));
}

std::vector<Configuration> configurations_of(const SimulatedJob& job) {
  std::vector<Configuration> configurations;
  for (const TruthPoint& point : job.truth) configurations.push_back(point.configuration);
  return configurations;
}

std::vector<Candidate> predicted_candidates(const SimulatedJob& job, const StoredModel& model) {
  std::vector<Candidate> candidates;
  for (const TruthPoint& point : job.truth) {
    const JobPrediction prediction = predict_job(point.configuration, model.time, model.statistics,
                                                 job.data_set_samples, job.price);
    const Estimate& iteration = prediction.iteration_seconds;
    candidates.push_back({point.configuration, prediction.seconds.value, prediction.cost.value,
                          iteration.standard_error / iteration.value});
  }
  return candidates;
}

StoredModel learn(const SearchPlan& plan, const Knowledge& knowledge) {
  return {TimeModel(knowledge.times),
          choose_statistical_model(plan.prior_epochs, knowledge.noise).model};
}

// Where the corners say too little (few workers cannot take the batches that many need), anything
// helps.
StoredModel learn_with_more(const SearchPlan& plan, Run& run, Knowledge& knowledge) {
  for (std::size_t next = 0;; ++next) {
    try {
      return learn(plan, knowledge);
    } catch (const DataError&) {
      while (next < knowledge.measured.size() && knowledge.measured[next]) ++next;
      if (next == knowledge.measured.size()) throw;
      measure(next, plan, run, knowledge);
    }
  }
}

// Full, partial and adaptive search: measure, learn, predict.
std::vector<Candidate> search(const SimulatedJob& job, const SearchPlan& plan, Run& run,
                              Knowledge& knowledge) {
  const auto configurations = configurations_of(job);
  if (plan.mode == SearchMode::kFull) {
    for (std::size_t i = 0; i < configurations.size(); ++i) measure(i, plan, run, knowledge);
    return predicted_candidates(job, learn(plan, knowledge));
  }
  for (const std::size_t i : corner_candidates(configurations)) measure(i, plan, run, knowledge);
  StoredModel model = learn_with_more(plan, run, knowledge);
  while (plan.mode == SearchMode::kAdaptive && knowledge.times.size() < plan.adaptive_points) {
    std::vector<JobPrediction> predictions;
    for (const Configuration& c : configurations)
      predictions.push_back(
          predict_job(c, model.time, model.statistics, job.data_set_samples, job.price));
    const auto next = next_candidate(model.time, configurations, knowledge.measured,
                                     policy_importance(plan.policy, predictions));
    if (!next) break;
    measure(*next, plan, run, knowledge);
    model = learn(plan, knowledge);
  }
  return predicted_candidates(job, model);
}

// Geometric mean over the stored models, each relative to its own first configuration: jobs of
// different length count alike. One model: that model.
std::vector<Candidate> recall(const SimulatedJob& job, const SearchPlan& plan) {
  SCAVENGER_CHECK(!plan.stored.empty());
  const auto stored = plan.mode == SearchMode::kNone ? plan.stored.first(1) : plan.stored;
  if (stored.size() == 1) return predicted_candidates(job, stored.front());
  std::vector<Candidate> mean(job.truth.size());
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = {job.truth[i].configuration, 1.0, 1.0};
  for (const StoredModel& model : stored) {
    const auto candidates = predicted_candidates(job, model);
    const double share = 1.0 / static_cast<double>(stored.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i].seconds *= std::pow(candidates[i].seconds / candidates.front().seconds, share);
      mean[i].cost = mean[i].seconds * mean[i].configuration.workers;
    }
  }
  return mean;
}

}  // namespace

SearchOutcome simulate_search(const SimulatedJob& job, const SearchPlan& plan, std::uint64_t seed) {
  SCAVENGER_CHECK(!job.truth.empty());
  Run run(job, plan, seed);
  Knowledge knowledge{std::vector<bool>(job.truth.size()), {}, {}};
  const bool from_store = plan.mode == SearchMode::kNone || plan.mode == SearchMode::kUniversal;
  const auto predicted = from_store ? recall(job, plan) : search(job, plan, run, knowledge);
  const auto truth = true_candidates(job);
  const Candidate& chosen = truth[choose_or_throw(predicted, plan)];
  const std::size_t oracle_index = choose_or_throw(truth, plan);
  const Candidate& oracle = truth[oracle_index];
  run.finish(static_cast<std::size_t>(&chosen - truth.data()));
  return {.chosen = chosen.configuration,
          .oracle = oracle.configuration,
          .regret = objective(chosen, plan.policy) / objective(oracle, plan.policy) - 1.0,
          .measured = knowledge.times.size(),
          .total_seconds = run.seconds(),
          .total_cost = run.cost(),
          .oracle_seconds = oracle.seconds,
          .oracle_cost = oracle.cost};
}

}  // namespace scavenger::perfmodel
