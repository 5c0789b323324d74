// What follows from a job's data and loss: how its model can be judged. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/config/job_config.h"

namespace scavenger {

// Beside more classes than these, a label among the five likeliest ones says something.
inline constexpr std::uint32_t kTopClasses = 5;

// In place of LossType::kAutomatic, what it stands for.
LossType loss_type(const JobConfig& config);

// The metrics that an evaluation of this job yields.
std::vector<Metric> metrics_of(const JobConfig& config);

// By which models of a job are compared: the target's metric, else that of early stopping, else the
// loss.
Metric judged_metric(const StopConfig& stop);

const char* name_of(Metric metric);  // "accuracy", as in a configuration
bool is_better_when_high(Metric metric);

}  // namespace scavenger
