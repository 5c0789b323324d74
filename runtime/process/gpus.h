// Counts the GPUs of this machine in a process without LibTorch.
#pragma once

#include <cstdint>

namespace scavenger {

// Returns the number of GPUs that CUDA can use, according to NVIDIA's driver; 0 if there is no
// driver.
std::uint32_t count_gpus();

}  // namespace scavenger
