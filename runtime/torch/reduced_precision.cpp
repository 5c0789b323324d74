#include "runtime/torch/reduced_precision.h"

#include <ATen/autocast_mode.h>

namespace scavenger {

ReducedPrecision::ReducedPrecision(Precision precision)
    : is_on_(precision == Precision::kBfloat16) {
  if (!is_on_) return;
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
}

ReducedPrecision::~ReducedPrecision() {
  if (!is_on_) return;
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();  // of weights, which are others in the next iteration
}

}  // namespace scavenger
