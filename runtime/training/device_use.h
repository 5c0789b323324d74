// How a worker uses its device: the most memory that it has taken, and whether passes are graphs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scavenger {

// Also a message: worker -> controller, after its first iteration, and when it has changed.
struct DeviceUse {
  static constexpr std::string_view kName = "device_use";
  std::string device;                     // "GPU 0"
  std::uint64_t most_used_bytes = 0;      // by tensors, at any instant so far
  std::uint64_t most_reserved_bytes = 0;  // by LibTorch, which keeps memory for later tensors
  std::uint64_t total_bytes = 0;          // of the device
  std::uint32_t graphs = 0;  // forward and backward passes that were recorded as CUDA graphs

  bool operator==(const DeviceUse&) const = default;
};

// Whether it differs from what was told before by enough to tell it again.
inline bool has_changed(const DeviceUse& now, const DeviceUse& told) {
  constexpr std::uint64_t kPart = 50;  // a fiftieth
  return now.graphs != told.graphs ||
         now.most_used_bytes > told.most_used_bytes + told.most_used_bytes / kPart ||
         now.most_reserved_bytes > told.most_reserved_bytes + told.most_reserved_bytes / kPart;
}

}  // namespace scavenger
