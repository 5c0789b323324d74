// Products of matrices and convolutions in bfloat16: autocast, as torch.autocast does it in Python.
#pragma once

#include <c10/core/DeviceType.h>

#include "runtime/config/job_config.h"

namespace scavenger {

// For as long as it lives, for operators called in this thread on such a device. With kFloat32 it
// does nothing.
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
