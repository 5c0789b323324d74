// What a cluster costs for a time, and what a job takes at a configuration.
#pragma once

#include <span>

#include "perfmodel/epochs/statistical_model.h"
#include "perfmodel/time/observation.h"
#include "perfmodel/time/time_model.h"

namespace scavenger::perfmodel {

struct Billing {
  double minimum_seconds = 60.0;     // a VM's bill starts with these
  double granularity_seconds = 1.0;  // and then grows in steps of these
};
inline constexpr Billing kExactBilling{0.0, 0.0};  // T K p, as the paper reckons

// Time that is charged for a VM that ran for `seconds`.
double billed_seconds(double seconds, const Billing& billing);

struct ClusterPrice {
  double worker_per_hour = 0.0;  // of one worker's VM; 0 for machines that cost nothing to use
  double fixed_per_hour = 0.0;   // of everything else: the parameter server's VMs
  Billing billing{};
};

// Dollars for `workers` VMs over `seconds`. Scavenger eq. 5 with kExactBilling.
double cluster_cost(double seconds, double workers, const ClusterPrice& price);

// The same of a time that is known with an error.
Estimate cluster_cost(const Estimate& seconds, double workers, const ClusterPrice& price);

// A whole job at one configuration. Where the statistical model is relative, epochs and all that
// follow from them are in units of the reference batch's epochs, good for comparisons only: billing
// has then to be exact, since no minimum holds for a share of a job.
struct JobPrediction {
  Configuration configuration;
  Estimate epochs;
  double iterations = 0.0;     // n = e D / B (Scavenger eq. 4)
  Estimate iteration_seconds;  // tau
  Estimate seconds;            // T = n tau (eq. 3)
  Estimate cost;               // dollars
  bool extrapolated = false;   // the time model's flag
};

// Throws DataError where the statistical model predicts no positive number of epochs at this batch
// (it was followed too far from its observations).
JobPrediction predict_job(const Configuration& configuration, const TimeModel& time,
                          const StatisticalModel& statistics, double data_set_samples,
                          const ClusterPrice& price);

// The same of a number of epochs that is known, such as one. Requires epochs.value > 0.
JobPrediction predict_epochs(const Configuration& configuration, const TimeModel& time,
                             const Estimate& epochs, double data_set_samples,
                             const ClusterPrice& price);

}  // namespace scavenger::perfmodel
