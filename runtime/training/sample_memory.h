// The memory that a forward and backward pass takes on a worker.
#pragma once

#include <cstdint>
#include <string_view>

namespace scavenger {

// Also a message: worker -> controller, after the worker has measured it.
struct SampleMemory {
  static constexpr std::string_view kName = "sample_memory";
  std::uint64_t bytes_per_sample = 0;  // growth with each sample; 0: unknown (so far)
  std::uint64_t room_samples = 0;      // most samples that fit into one pass

  bool operator==(const SampleMemory&) const = default;
};

}  // namespace scavenger
