// The place of a batch in the job's stream of samples.
#pragma once

#include <cstdint>

namespace scavenger {

// Positions [first, first + size), a worker's part of the global batch [global_first, global_first
// + global_size).
struct BatchPlace {
  std::uint64_t first = 0;
  std::uint32_t size = 0;
  std::uint64_t global_first = 0;
  std::uint32_t global_size = 0;

  static BatchPlace whole(std::uint64_t first, std::uint32_t size) {
    return {first, size, first, size};
  }
};

}  // namespace scavenger
