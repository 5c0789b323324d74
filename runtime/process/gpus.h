// The GPUs of this machine, for a process that has no LibTorch to ask.
#pragma once

#include <cstdint>

namespace scavenger {

// That CUDA can use, as NVIDIA's driver says: none where there is no driver.
std::uint32_t count_gpus();

}  // namespace scavenger
