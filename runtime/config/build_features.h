// What this build has of what a configuration may ask for: it depends on the LibTorch that was
// there when it was compiled.
#pragma once

#include "runtime/config/job_config.h"

namespace scavenger {

struct BuildFeatures {
  bool gloo = false;
  bool nccl = false;
  bool cuda = false;
};

BuildFeatures build_features();

// Throws InputError that says how to get it where something is missing.
void require_features(const JobConfig& config, const BuildFeatures& features);

}  // namespace scavenger
