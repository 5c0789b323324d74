// The real models, policies and search over a table of ground truth, on a virtual clock: what a
// search would have chosen, and what searching would have cost.
//
// Iterations that a search spends are training too: an iteration at (K, B) brings the job 1 / n(K,
// B) nearer to its target, n being that configuration's iterations to the target. A search is dear
// because it trains at configurations that are not the best, and because it resizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "perfmodel/epochs/statistical_model.h"
#include "perfmodel/plan/cost.h"
#include "perfmodel/plan/policy.h"
#include "perfmodel/time/time_model.h"

namespace scavenger::perfmodel {

struct TruthPoint {
  Configuration configuration;
  double iteration_seconds = 0.0;
  double normalised_noise = 0.0;  // gamma_n
  double epochs = 0.0;            // to the target
};

struct SimulatedJob {
  std::vector<TruthPoint> truth{};
  double data_set_samples = 0.0;
  ClusterPrice price{};
  double iteration_scatter = 0.0;  // relative standard deviation of one iteration's seconds
  double noise_scatter = 0.0;      // relative standard deviation of a measured gamma_n
};

enum class SearchMode {
  kFull,       // every configuration
  kPartial,    // the corners, smallest first (the paper's default)
  kAdaptive,   // the corners, then what the model asks for
  kNone,       // a stored model of the same or a similar job
  kUniversal,  // the mean of several jobs' stored models
};

// What is known of a job before it starts.
struct StoredModel {
  TimeModel time;
  StatisticalModel statistics;
};

struct SearchPlan {
  SearchMode mode = SearchMode::kPartial;
  Policy policy = Policy::kMinimumTime;
  Constraints constraints{};
  std::uint32_t profile_iterations = 20;       // at each configuration
  std::uint32_t cold_start_iterations = 1000;  // at the first, until the noise is stable
  double resize_seconds = 37.0;                // the paper's for ResNet18; ours is in docs/
  std::size_t adaptive_points = 9;             // in all, corners included
  // Epochs of earlier runs of this job. Without any, epochs are relative: enough to choose by.
  std::vector<EpochObservation> prior_epochs{};
  std::span<const StoredModel> stored{};  // kNone: the first counts; kUniversal: all
};

struct SearchOutcome {
  Configuration chosen;
  Configuration oracle;        // what the policy chooses from the truth
  double regret = 0.0;         // of the chosen one in truth: objective / the oracle's - 1
  std::size_t measured = 0;    // configurations
  double total_seconds = 0.0;  // the job with its search
  double total_cost = 0.0;
  double oracle_seconds = 0.0;  // the job at the oracle from its first iteration on
  double oracle_cost = 0.0;

  double time_overhead() const { return total_seconds / oracle_seconds - 1.0; }
  double cost_overhead() const { return total_cost / oracle_cost - 1.0; }
};

// The objective of the knee is time x cost. Throws DataError as the models do, and where the
// constraints leave nothing to choose.
SearchOutcome simulate_search(const SimulatedJob& job, const SearchPlan& plan, std::uint64_t seed);

}  // namespace scavenger::perfmodel
