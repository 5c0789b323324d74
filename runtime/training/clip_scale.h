// Clipping a gradient to a norm, as torch.nn.utils.clip_grad_norm_ does it.
#pragma once

#include <cmath>

namespace scavenger {

// What a gradient of this squared norm is multiplied with, so that its norm is at most `clip_norm`.
// A norm that is not finite clips nothing.
inline float clip_scale(double sqr_norm, double clip_norm) {
  constexpr double kTiny = 1e-6;  // as PyTorch has it
  const double scale = clip_norm / (std::sqrt(sqr_norm) + kTiny);
  return scale < 1.0 && std::isfinite(sqr_norm) ? static_cast<float>(scale) : 1.0F;
}

}  // namespace scavenger
