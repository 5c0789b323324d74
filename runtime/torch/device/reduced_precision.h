// Computes matrix products and convolutions in bfloat16 or float16, like torch.autocast in Python.
#pragma once

#include <c10/core/DeviceType.h>

#include "runtime/config/job_config.h"

namespace scavenger {

// Applies during its lifetime to operators that this thread calls on such a device. Does nothing
// with kFloat32 and kTf32.
class ReducedPrecision final {
 public:
  ReducedPrecision(Precision precision, at::DeviceType device);
  ~ReducedPrecision();
  ReducedPrecision(const ReducedPrecision&) = delete;
  ReducedPrecision& operator=(const ReducedPrecision&) = delete;

 private:
  bool is_on_;
  at::DeviceType device_;
};

// Sets for the whole process how GPUs multiply float32, and whether cuDNN tunes its kernels.
// (By default LibTorch's convolutions round to TF32, and its matrix products do not.)
void use_gpu_kernels(const ComputeConfig& compute);

}  // namespace scavenger
