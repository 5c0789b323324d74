// The distributions of initial values, equal to PyTorch's.
#pragma once

#include <cstdint>

#include "runtime/torch/layers/model.h"

namespace scavenger {

// U(-1/sqrt(fan_in), 1/sqrt(fan_in)), for weights and biases: the default of PyTorch's layers,
// there named kaiming_uniform(a = sqrt(5)) (He et al., 2015, eq. 14).
InitialValues uniform_by_fan_in(std::int64_t fan_in);

// N(0, 2 / fan_out): He et al., 2015, sec. 2.2, which keeps the variance of gradients that pass
// back through a ReLU.
InitialValues normal_by_fan_out(std::int64_t fan_out);

// U(-a, a) with a = sqrt(6 / (fan_in + fan_out)): Glorot and Bengio, 2010, eq. 16.
InitialValues uniform_by_both_fans(std::int64_t fan_in, std::int64_t fan_out);

InitialValues normal(double deviation);
InitialValues all_equal(float start);

}  // namespace scavenger
