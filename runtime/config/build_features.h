// The optional features that this build has. They depend on the LibTorch that it was compiled with.
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

// Throws ConfigError, with a remedy, if `config` needs a feature that is missing.
void require_features(const JobConfig& config, const BuildFeatures& features);
// Throws ConfigError, with a remedy, if `gpus`, the number of GPUs of the machine on which the
// workers run, is too small for `config`.
void require_gpus(const JobConfig& config, std::uint32_t gpus);

// Returns whether the job cannot run without GPUs.
bool needs_gpus(const JobConfig& config);

}  // namespace scavenger
