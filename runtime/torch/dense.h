// The dense layer's arithmetic, with a backward pass that writes gradients where they belong.
#pragma once

#include "runtime/torch/model.h"

namespace scavenger {

// y = x W^T + b; x {..., inputs}, W {outputs, inputs}, b {outputs} -> {..., outputs}.
// Parameters that are used more than once in an iteration must be used through functions like this
// one only.
at::Tensor dense(const at::Tensor& x, const Parameter& weight, const Parameter& bias);

}  // namespace scavenger
