// What only the run-time library of a device can do, behind functions that compile with any
// LibTorch. A build without CUDA has no such device, and the CPU needs none of it.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace scavenger {

// The memory of a device, in bytes.
struct DeviceMemory {
  std::uint64_t free = 0;           // that nobody has allocated
  std::uint64_t reserved = 0;       // by LibTorch in this process, in use or kept for later
  std::uint64_t used = 0;           // the part of it that tensors use
  std::uint64_t most_used = 0;      // the most since restart_peak()
  std::uint64_t most_reserved = 0;  // likewise
  std::uint64_t total = 0;
};

// Returns nothing for the CPU.
std::optional<DeviceMemory> memory_of(at::Device device);
void restart_peak(at::Device device);

// Lets a device copy from and to memory of the host by itself.
struct HostPinning {
  // Returns false if that is not possible; the memory is then used as before.
  std::function<bool(void* first, std::size_t bytes)> pin;
  std::function<void(void* first)> release;
};
HostPinning host_pinning(at::Device device);

}  // namespace scavenger
