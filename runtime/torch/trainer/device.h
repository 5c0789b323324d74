// Converts the place of a model to LibTorch's type.
#pragma once

#include <c10/core/Device.h>

#include "runtime/torch/trainer/torch_trainer.h"

namespace scavenger {

inline at::Device device_of(const DevicePlace& place) {
  return place.is_gpu ? at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(place.gpu))
                      : at::Device(at::kCPU);
}

}  // namespace scavenger
