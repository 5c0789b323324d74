// A worker's copy of the job that stays on a device: LibTorch's kernels weight, step and take norms
// there, and the host only asks for two numbers at the end of each iteration. Brings in no
// LibTorch.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/torch_trainer.h"
#include "runtime/training/replica.h"

namespace scavenger {

// The results are those of the parameter server's optimizers to rounding, not to the bit.
std::unique_ptr<Replica> make_tensor_replica(std::uint64_t flat_size,
                                             const OptimizerConfig& optimizer,
                                             const DevicePlace& place);

}  // namespace scavenger
