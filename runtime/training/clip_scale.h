// Clips a gradient to a norm, like torch.nn.utils.clip_grad_norm_.
#pragma once

#include <cmath>

namespace scavenger {

// Added to the norm, so that a gradient of zeros is no division by zero; the value of PyTorch.
inline constexpr double kClipTiny = 1e-6;

// Returns the factor for a gradient of this squared norm, so that its norm becomes at most
// `clip_norm`. Returns 1 if the norm is not finite.
inline float clip_scale(double sqr_norm, double clip_norm) {
  const double scale = clip_norm / (std::sqrt(sqr_norm) + kClipTiny);
  return scale < 1.0 && std::isfinite(sqr_norm) ? static_cast<float>(scale) : 1.0F;
}

}  // namespace scavenger
