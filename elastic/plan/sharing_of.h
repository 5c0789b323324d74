// How a job divides its batch among unequal workers, in the terms of the performance models.
#pragma once

#include "perfmodel/time/mixed_cluster.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

inline perfmodel::Sharing sharing_of(const JobConfig& config) {
  return config.batching.dynamic ? perfmodel::Sharing::kDynamic : perfmodel::Sharing::kEven;
}

}  // namespace scavenger::elastic
