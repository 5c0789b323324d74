// The optimizer section of a job's configuration (job_config.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace scavenger {

enum class OptimizerType {
  kSgd,
  kAdam,
  kAdamW,
  // What the user's code says. scavenger-train replaces it if the parameter server has such an
  // optimizer; otherwise all workers step it, in Python.
  kPython
};
enum class ScheduleType { kConstant, kStep, kCosine, kInverseSqrt };

// How the learning rate changes if B differs from the batch size that it was chosen for.
enum class BatchSizeRule { kNone, kLinear, kSqrt, kAdaScale };

struct ScheduleConfig {
  ScheduleType type = ScheduleType::kConstant;
  double warmup_epochs = 0.0;           // linear from 0 to the base rate, before everything else
  std::vector<double> boundary_epochs;  // step: epochs at which the rate changes
  double factor = 0.1;                  // step: factor of the rate at each boundary
  double total_epochs = 0.0;            // cosine: epoch at which it ends
  double final_fraction = 0.0;          // cosine: rate at the end, as a fraction of the base rate

  bool operator==(const ScheduleConfig&) const = default;
};

struct OptimizerConfig {
  OptimizerType type = OptimizerType::kSgd;
  double learning_rate = 0.1;  // kPython: 1, and what is scheduled is a factor of its own rates
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double clip_norm = 0.0;  // the gradient is scaled down to this norm; 0: never
  BatchSizeRule batch_size_rule = BatchSizeRule::kNone;
  std::uint32_t reference_batch_size =
      0;  // batch size that learning_rate was chosen for; 0: that of the job's start
  ScheduleConfig schedule;
  std::vector<std::string> state = {};  // kPython: names of what it remembers of each parameter

  bool operator==(const OptimizerConfig&) const = default;
};

}  // namespace scavenger
