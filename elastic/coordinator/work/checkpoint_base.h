// What a checkpoint says of the job beside weights, optimizer state and buffers.
#pragma once

#include <string>

#include "elastic/control/controller.h"
#include "elastic/coordinator/job/job_facts.h"
#include "elastic/coordinator/job/job_record.h"
#include "runtime/checkpoint/checkpoint.h"

namespace scavenger::elastic {

// At the boundary where the controller is. `config_json`: the resolved configuration. Without the
// model's layouts.
Checkpoint checkpoint_base(const JobConfig& config, const std::string& config_json,
                           const DataSize& data, const Controller& controller,
                           const JobRecord& record);

}  // namespace scavenger::elastic
