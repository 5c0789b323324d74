// A worker's copy of the model state that stays on a device. LibTorch's kernels compute there; the
// host reads only two numbers at the end of each iteration. This header does not include LibTorch.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "runtime/training/replica.h"

namespace scavenger {

// The results equal those of the parameter server's optimizers up to rounding, not bitwise.
std::unique_ptr<Replica> make_tensor_replica(std::uint64_t flat_size,
                                             const OptimizerConfig& optimizer,
                                             const DevicePlace& place);

}  // namespace scavenger
