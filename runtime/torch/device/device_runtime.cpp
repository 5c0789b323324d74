#include "runtime/torch/device/device_runtime.h"

#ifdef SCAVENGER_HAS_CUDA

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

namespace scavenger {

std::optional<DeviceMemory> memory_of(at::Device device) {
  if (!device.is_cuda()) return std::nullopt;
  const c10::cuda::CUDAGuard on_device(device);
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
    cudaGetLastError();  // forgets the error
    return std::nullopt;
  }
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  const auto& used = stats.allocated_bytes.front();  // of all kinds of blocks
  const auto& reserved = stats.reserved_bytes.front();
  return DeviceMemory{.free = free,
                      .reserved = static_cast<std::uint64_t>(reserved.current),
                      .used = static_cast<std::uint64_t>(used.current),
                      .most_used = static_cast<std::uint64_t>(used.peak),
                      .most_reserved = static_cast<std::uint64_t>(reserved.peak),
                      .total = total};
}

void restart_peak(at::Device device) {
  if (device.is_cuda()) c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
}

HostPinning host_pinning(at::Device device) {
  return {[device](void* first, std::size_t bytes) {
            if (!device.is_cuda()) return false;
            const c10::cuda::CUDAGuard on_device(device);
            if (cudaHostRegister(first, bytes, cudaHostRegisterPortable) == cudaSuccess)
              return true;
            cudaGetLastError();  // forgets the error
            return false;
          },
          [](void* first) { cudaHostUnregister(first); }};
}

}  // namespace scavenger

#else

namespace scavenger {

std::optional<DeviceMemory> memory_of(at::Device) {
  return std::nullopt;
}

void restart_peak(at::Device) {}

HostPinning host_pinning(at::Device) {
  return {[](void*, std::size_t) { return false; }, [](void*) {}};
}

}  // namespace scavenger

#endif
