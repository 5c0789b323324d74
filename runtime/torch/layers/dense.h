// The arithmetic of the dense layer. Its backward pass writes gradients directly to their place.
#pragma once

#include "runtime/torch/layers/model.h"

namespace scavenger {

// y = x W^T + b; x {..., inputs}, W {outputs, inputs}, b {outputs} -> {..., outputs}.
//
// A parameter that is used more than once per iteration must only be used by functions like this.
at::Tensor dense(const at::Tensor& x, const Parameter& weight, const Parameter& bias);

}  // namespace scavenger
