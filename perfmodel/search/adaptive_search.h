// Which configuration to measure next: the one whose measurement would leave the least uncertainty
// about the configurations that matter.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "perfmodel/plan/cost.h"
#include "perfmodel/plan/policy.h"
#include "perfmodel/time/time_model.h"

namespace scavenger::perfmodel {

// The corners that a first model needs: fewest and most workers, each with its smallest and largest
// batch (Scavenger's partial search). Indices into `candidates`, each once, cheapest first: fewest
// workers, then smallest batch.
std::vector<std::size_t> corner_candidates(std::span<const Configuration> candidates);

// The candidate, not yet `measured`, with the largest expected reduction of
//   sum_j importance_j Var(ln seconds_j),
// which is sum_j importance_j Cov(j, i)^2 / (Var(i) + Var(measurement)) for candidate i. Nothing
// where all have been measured. `importance` is empty (all alike) or one weight per candidate.
std::optional<std::size_t> next_candidate(const TimeModel& model,
                                          std::span<const Configuration> candidates,
                                          const std::vector<bool>& measured,
                                          std::span<const double> importance = {});

// How much each candidate matters to the choice of the smallest objective (time, or cost):
// exp(-z^2 / 2), z being by how many standard errors it is predicted to be worse than the best.
std::vector<double> decision_importance(std::span<const Estimate> objectives);

// The same for what a policy chooses by. The knee depends on the whole curve, so all matter alike.
std::vector<double> policy_importance(Policy policy, std::span<const JobPrediction> predictions);

}  // namespace scavenger::perfmodel
