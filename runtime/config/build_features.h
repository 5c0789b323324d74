// What this build has of what a configuration may ask for: it depends on the LibTorch that was
// there when it was compiled.
#pragma once

#include <cstdint>

#include "runtime/config/job_config.h"

namespace scavenger {

struct BuildFeatures {
  bool gloo = false;
  bool nccl = false;
  bool cuda = false;
};

BuildFeatures build_features();

// Both throw ConfigError that says how to get it where something is missing.
void require_features(const JobConfig& config, const BuildFeatures& features);
// Of a machine with so many GPUs that the workers are to run on.
void require_gpus(const JobConfig& config, std::uint32_t gpus);

// Whether it cannot do without GPUs.
bool needs_gpus(const JobConfig& config);

}  // namespace scavenger
