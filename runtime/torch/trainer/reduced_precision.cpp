#include "runtime/torch/trainer/reduced_precision.h"

#include <ATen/autocast_mode.h>

namespace scavenger {

ReducedPrecision::ReducedPrecision(Precision precision, at::DeviceType device)
    : is_on_(precision == Precision::kBfloat16), device_(device) {
  if (!is_on_) return;
  at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
}

ReducedPrecision::~ReducedPrecision() {
  if (!is_on_) return;
  at::autocast::set_autocast_enabled(device_, false);
  at::autocast::clear_cache();  // it contains weights, which change in the next iteration
}

}  // namespace scavenger
