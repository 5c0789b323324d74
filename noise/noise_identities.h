// The algebra between the noise measures of the literature. Exact in expectation; nothing here is
// estimated.
//
// With G = |E g|^2, T = tr Cov(gradient of one sample), B_s = T / G, b = B / K:
//   gamma   = (G + T/b) / (G + T/B) = K (b + B_s) / (B + B_s)     Scavenger (Tyagi 2023) eq. 2
//   gamma_n = gamma / K                                          ibid., section III.A
//   B_s     = B (gamma - 1) / (K - gamma)                        McCandlish et al. 2018, "B_simple"
// gamma is also AdaScale's gain ratio. gamma_n depends on K unless b << B_s; B_s does not.
#pragma once

namespace scavenger::noise {

// Requires noise_scale >= 0 (infinity: the gradient is all noise, gamma = K), workers >= 1 and
// global_batch > 0. Workers need not be whole: for unequal batches b_k the algebra holds with
// b = B / K, provided that the workers' squared norms were averaged with weights b_k / B.
double gamma_from_noise_scale(double noise_scale, double workers, double global_batch);

// The inverse. Infinity if gamma >= workers; negative if gamma < 1 (a noisy estimate: clip
// after averaging, not before). Requires workers > 1: one worker's gamma is 1 and says nothing.
double noise_scale_from_gamma(double gamma, double workers, double global_batch);

}  // namespace scavenger::noise
