// The memory that a forward and backward pass takes on a worker.
#pragma once

#include <cstdint>
#include <string_view>

namespace scavenger {

// Also a message of its own: worker -> controller, when it has measured it.
struct SampleMemory {
  static constexpr std::string_view kName = "sample_memory";
  std::uint64_t bytes_per_sample = 0;  // what each adds; 0: not known (yet)
  std::uint64_t room_samples = 0;      // so many can go through one pass

  bool operator==(const SampleMemory&) const = default;
};

}  // namespace scavenger
