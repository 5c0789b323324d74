// The metrics of a job's model, which follow from the job's data and loss. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/config/job_config.h"

namespace scavenger {

// Top-5 accuracy is meaningful if there are more classes than this.
inline constexpr std::uint32_t kTopClasses = 5;

// Returns the loss of the job: its configured one, or what LossType::kAutomatic stands for.
LossType loss_type(const JobConfig& config);

// Returns the metrics that an evaluation of this job yields.
std::vector<Metric> metrics_of(const JobConfig& config);

// Returns the metric by which the models of a job are compared: that of the target, or else that of
// early stopping, or else the loss.
Metric judged_metric(const StopConfig& stop);

}  // namespace scavenger
