// What every configuration would take and cost, from the measurements of a few: the models, the
// policies and their honesty about themselves, in one document.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perfmodel/epochs/statistical_model.h"
#include "perfmodel/plan/cost.h"
#include "perfmodel/plan/plan_basis.h"
#include "perfmodel/plan/policy.h"
#include "perfmodel/time/mixed_cluster.h"
#include "perfmodel/time/time_model.h"

namespace scavenger::perfmodel {

// A run that reached its target, for "predicted against actual".
struct ActualRun {
  Configuration configuration;
  double epochs = 0.0;
  double seconds = 0.0;  // 0: not known
};

struct PlanRequest {
  std::vector<TimeObservation> times;
  std::vector<EpochObservation> epochs;
  std::vector<NoiseObservation> noise;
  std::optional<double> noise_scale;
  std::vector<ActualRun> runs;
  std::vector<Configuration> candidates;
  double samples_per_epoch = 0.0;
  ClusterPrice price;
  // Where workers get unequal machines: then these have the prices, and `times` are of machines of
  // speed 1, or were measured on the pool itself.
  MachinePool machines;
  bool measured_on_machines = false;
  Policy policy = Policy::kKnee;
  Constraints constraints;
  bool price_is_assumed = false;  // nobody has named one: a worker-hour counts as a dollar
  // Where neither epochs nor noise say how epochs depend on B: plan for one epoch, not throw.
  bool plans_without_noise = false;
  bool holds_out = true;  // tell the held-out error of seconds, at a fit per observation
};

struct PlanRow {
  JobPrediction prediction;
  Estimate samples_per_second;
  // Samples per second and worker, as a share of those at the fewest workers that were measured,
  // with the same local batch: the part of the time that more workers do not cost.
  Estimate efficiency;
  std::vector<MachineGroup> machines;  // of its workers, where they are unequal
  std::vector<double> shares;          // b_k on each of these
  bool is_measured = false;            // its seconds per iteration were
  bool is_pareto = false;              // among those that the constraints allow
  bool is_knee = false;
  bool is_chosen = false;
  // Of runs at this very configuration, means; nothing where there were none.
  std::optional<double> actual_iteration_seconds;
  std::optional<double> actual_epochs;
  std::optional<double> actual_seconds;
};

// |predicted / actual - 1| of what the fit did not see.
struct HeldOutError {
  double mean = 0.0;
  double largest = 0.0;
  std::size_t points = 0;  // 0: nothing could be held out
};

// How far the model is from what it was fitted to, predicted / measured - 1 of each configuration.
struct FitErrors {
  double lowest = 0.0;   // -0.72: 72 % too little
  double highest = 0.0;  // at least 0
  // True where a prediction is so far from a measurement of its own that neither can be trusted.
  bool is_bad() const;
};

struct Plan {
  std::vector<PlanRow> rows;  // as the candidates
  Policy policy = Policy::kKnee;
  Decision decision;
  PlanBasis basis = PlanBasis::kJob;
  bool relative = false;  // epochs, times and costs are shares of those at the reference batch
  double reference_batch = 0.0;
  double efficiency_workers = 0.0;  // K at which efficiency is 1
  bool price_is_assumed = false;
  // Limits on the whole job's time and cost that could not be compared, by name ("max_seconds").
  std::vector<std::string> limits_not_compared;
  FitErrors fit_errors;
  std::string time_form;
  double time_error_scale = 0.0;   // scatter as observed / as assumed
  HeldOutError iteration_seconds;  // one configuration left out at a time
  StatisticalForm statistical_form = StatisticalForm::kNoiseScale;
  std::vector<ScoredForm> statistical_scores;  // best first; empty: nothing could be held out
  std::vector<double> statistical_coefficients;
  std::size_t time_points = 0, epoch_points = 0, noise_points = 0;
};

// Throws DataError as the models do (too few observations, one K only, one local batch only).
// Where times are not of the whole job (PlanBasis), billing is exact and limits on time and cost
// are set aside, and named in the plan.
Plan make_plan(const PlanRequest& request);

// The same from several models' observations, each relative to its own first candidate, by their
// geometric mean (jobs of different length count alike): what is known of a job that nothing is
// known of. Intervals are the spread between the models. All share candidates, price, policy and
// constraints of the first. Throws DataError with fewer than two.
Plan make_universal_plan(std::span<const PlanRequest> requests);

// Every K from the fewest to the most observed workers (by doubling above 16) with every batch size
// that was observed, and the powers of two between them.
std::vector<Configuration> natural_candidates(std::span<const TimeObservation> times,
                                              std::span<const EpochObservation> epochs);

}  // namespace scavenger::perfmodel
