// Over which distances in each parameter profiles change, and so how much a simulation of one point
// tells about others: a Gaussian process that was fitted to the simulations.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace scavenger::surrogate {

// The process has an unknown affine function of the parameters as its mean, and around it a Matern
// kernel of smoothness 5/2 with a length for each parameter. All points are in [-1, 1].
class CorrelationOfPoints final {
 public:
  // The lengths, and the share of noise, are those of the greatest likelihood. `profiles` are those
  // at `units`. Requires two or more.
  CorrelationOfPoints(std::span<const std::vector<double>> units,
                      std::span<const std::vector<double>> profiles);
  // As it was fitted before.
  CorrelationOfPoints(std::vector<double> lengths, double noise);

  // Of a parameter that has one value: the longest there are.
  const std::vector<double>& lengths() const { return lengths_; }
  double noise() const { return noise_; }
  // Of what is expected at two points before anything was simulated.
  double covariance(std::span<const double> a, std::span<const double> b) const;

 private:
  std::vector<double> lengths_;
  double noise_ = 0.0;  // variance, where that of the process is 1
};

}  // namespace scavenger::surrogate
