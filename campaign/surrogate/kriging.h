// What is left at the simulations, continued to other points: the mean of a Gaussian process given
// values at some points (kriging; Rasmussen and Williams 2006, 2.2).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "campaign/surrogate/correlation.h"
#include "perfmodel/fit/matrix.h"

namespace scavenger::surrogate {

// Each component of the profiles is a process with the same lengths and a noise of its own: the
// first components are exact, the last ones mostly noise, of which nothing is continued.
class Kriging final {
 public:
  // The noise of a component is that of the greatest likelihood of its values. `values` are those
  // [component][point] at `units`. A point's noise is divided by its steps, which are relative to
  // the shortest simulation.
  Kriging(const CorrelationOfPoints& process, std::vector<std::vector<double>> units,
          std::span<const double> steps, std::span<const std::vector<double>> values);

  // How much each simulated point counts, if this is left of the component at them.
  std::vector<double> weights(std::size_t component, std::span<const double> left) const;
  // The mean of the process at a point is the product of this with the weights.
  std::vector<double> covariances(std::span<const double> unit) const;
  double noise(std::size_t component) const { return noises_[component]; }

 private:
  CorrelationOfPoints process_;
  std::vector<std::vector<double>> units_;
  std::vector<double> noises_;                     // of each component
  std::map<double, perfmodel::Cholesky> factors_;  // of the covariances with this noise
};

}  // namespace scavenger::surrogate
