// What the configurations of a job really take, in a trial of searches: laws that are drawn at
// random and are not of any form that is fitted, or tables that other people measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perfmodel/plan/policy.h"
#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

struct TrialPoint {
  Configuration configuration{};
  double iteration_seconds = 0.0;
  double epochs = 0.0;  // of a whole job
};

// The training loss at the share u of the way to the target: a sum of a power of u and an
// exponential, which no curve that is fitted is.
struct TrialLoss {
  double floor = 0.3;
  double knee = 0.03;
  double decay = 0.6;
  double quick = 0.3;           // share of the exponential
  double offset = 0.0;          // by which it settles higher for each factor e of B
  double sample_scatter = 1.0;  // standard deviation of one sample's loss, beside its mean
  double at(double u) const;
};

// A part of the way to the target, where the noise is no constant.
struct TrialStage {
  double end = 1.0;       // share of the way
  double gradient = 0.0;  // |G|^2, and the trace of the covariance: B_s is trace / gradient
  double trace = 0.0;
  std::vector<double> epochs{};  // beside the whole job's, by batch, smallest first
};

struct TrialTruth {
  std::string name;
  std::vector<TrialPoint> points{};  // by K, then B; the first is where the job starts
  double samples_per_epoch = 50000.0;
  double noise_scale = 1000.0;       // as it is measured late in the job
  double first_noise_share = 1.0;    // as it is measured at the beginning, beside that
  std::vector<TrialStage> stages{};  // as a run logged them; empty: all of the job is alike
  TrialLoss loss{};
  double iteration_scatter = 0.05;  // relative standard deviation of one iteration

  double job_seconds(const TrialPoint& point) const {
    return point.epochs * samples_per_epoch / point.configuration.global_batch *
           point.iteration_seconds;
  }
  // Requires stages.
  const TrialStage& stage_at(double progress) const;
  double epochs_factor(double progress, double batch) const;
  // Time, machine time, or their product.
  double objective(const TrialPoint& point, Policy policy) const;
  const TrialPoint& oracle(Policy policy) const;
};

double objective_of(double seconds, double machine_seconds, Policy policy);

// K = 1 to 64 by doubling, six batch sizes.
TrialTruth drawn_truth(std::uint64_t number);

// With as many epochs as the oracle needs for so many seconds.
TrialTruth with_length(TrialTruth truth, Policy policy, double oracle_seconds);

// Pollux's two tables and the Scavenger paper's, from the developers' data folder; none where it is
// not there.
std::vector<TrialTruth> measured_truths(const std::string& data_folder);

}  // namespace scavenger::perfmodel
