// Alignment of data to cache lines. It decides which kernels a library uses, and thereby the last
// bits of the result.
#pragma once

#include <cstdint>

#include "runtime/training/tensor_layout.h"

namespace scavenger {

inline bool starts_cache_line(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % (kTensorAlignment * sizeof(float)) == 0;
}

}  // namespace scavenger
