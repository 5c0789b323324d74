// Computes matrix products and convolutions in bfloat16, like torch.autocast in Python.
#pragma once

#include <c10/core/DeviceType.h>

#include "runtime/config/job_config.h"

namespace scavenger {

// Applies during its lifetime to operators that this thread calls on such a device. Does nothing
// with kFloat32.
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

}  // namespace scavenger
