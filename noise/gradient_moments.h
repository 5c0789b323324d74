// What one iteration says about the gradient's mean and its noise.
#pragma once

#include <optional>
#include <span>

namespace scavenger::noise {

// The mean gradient over some of an iteration's samples, by its size only.
struct PartNorm {
  double samples = 0.0;   // b_k
  double sqr_norm = 0.0;  // |g_k|^2 of the part's mean gradient
};

// Unbiased estimates of G = |E g|^2 and T = tr Cov(gradient of one sample). Either may come out
// negative from one iteration; both are in units that do not depend on K, B or the b_k.
struct GradientMoments {
  double gradient_sqr_norm = 0.0;  // G
  double trace_per_sample = 0.0;   // T, in |gradient|^2 * samples

  bool operator==(const GradientMoments&) const = default;
};

// From P >= 2 parts of one batch of B = sum b_k samples, all at the same weights, and the squared
// norm of the batch's mean gradient sum_k (b_k / B) g_k. With m = sum_k (b_k / B) |g_k|^2 and a
// that squared norm, E m = G + T P / B for any b_k, and E a = G + T / B, hence
//   T = B (m - a) / (P - 1),  G = (P a - m) / (P - 1).
// (McCandlish et al. 2018, appendix A.1, weighted.) The parts are the workers' batches; for one
// worker, two halves of its batch. Nothing comes back if there are fewer than two parts with
// samples, or a number is not finite (an overflowing loss): such an iteration says nothing.
std::optional<GradientMoments> estimate_moments(std::span<const PartNorm> parts,
                                                double batch_sqr_norm);

}  // namespace scavenger::noise
