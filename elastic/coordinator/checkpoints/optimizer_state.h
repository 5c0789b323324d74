// Whether a checkpoint has the optimizer state that a configuration needs.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Throws CheckpointError if the checkpoint was trained with an optimizer that keeps other state.
// `folder` is the checkpoint's.
void require_optimizer_state(const OptimizerConfig& optimizer, const Checkpoint& checkpoint,
                             const std::filesystem::path& folder);

}  // namespace scavenger::elastic
