// A problem whose gradient noise is known exactly: loss = mean <w, x> over samples
// x ~ N(mu, s^2 I) in d dimensions. The gradient of a sample is x itself, so |G|^2 = |mu|^2 and
// tr Cov = d s^2, at all weights.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "noise/gradient_moments.h"
#include "runtime/base/random.h"

namespace scavenger::noise {

class KnownGradients final {
 public:
  KnownGradients(std::uint64_t seed, std::size_t dimensions, double mean_sqr_norm,
                 double trace_per_sample)
      : stream_(seed, "known gradients"),
        mean_(std::sqrt(mean_sqr_norm / static_cast<double>(dimensions))),
        deviation_(std::sqrt(trace_per_sample / static_cast<double>(dimensions))),
        sum_(dimensions) {}

  // Draws the mean gradients of one iteration's parts. The mean of b samples is drawn at once:
  // N(mu, s^2 / b).
  void draw(const std::vector<double>& batch_sizes) {
    parts.clear();
    sum_.assign(sum_.size(), 0.0);
    double total = 0.0;
    for (const double b : batch_sizes) total += b;
    for (const double b : batch_sizes) {
      double sqr_norm = 0.0;
      for (double& coordinate : sum_) {
        const double g = mean_ + deviation_ / std::sqrt(b) * stream_.normal();
        sqr_norm += g * g;
        coordinate += b / total * g;
      }
      parts.push_back({b, sqr_norm});
    }
    batch_sqr_norm = 0.0;
    for (const double coordinate : sum_) batch_sqr_norm += coordinate * coordinate;
  }

  std::vector<PartNorm> parts;
  double batch_sqr_norm = 0.0;

 private:
  RandomStream stream_;
  double mean_;
  double deviation_;
  std::vector<double> sum_;
};

}  // namespace scavenger::noise
