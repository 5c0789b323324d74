#include "runtime/torch/device/reduced_precision.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

namespace scavenger {

ReducedPrecision::ReducedPrecision(Precision precision, at::DeviceType device)
    : is_on_(precision == Precision::kBfloat16 || precision == Precision::kFloat16),
      device_(device) {
  if (!is_on_) return;
  at::autocast::set_autocast_dtype(device_,
                                   precision == Precision::kBfloat16 ? at::kBFloat16 : at::kHalf);
  at::autocast::set_autocast_enabled(device_, true);
}

ReducedPrecision::~ReducedPrecision() {
  if (!is_on_) return;
  at::autocast::set_autocast_enabled(device_, false);
  at::autocast::clear_cache();  // it contains weights, which change in the next iteration
}

void use_gpu_kernels(const ComputeConfig& compute) {
  const bool is_tf32 = compute.precision == Precision::kTf32;
  at::globalContext().setAllowTF32CuBLAS(is_tf32);
  at::globalContext().setAllowTF32CuDNN(is_tf32);
  at::globalContext().setBenchmarkCuDNN(compute.tune_kernels);
}

}  // namespace scavenger
