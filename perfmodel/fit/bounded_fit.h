// Nonlinear least squares and general minimisation inside a box, for smooth functions of a few
// variables.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "perfmodel/fit/matrix.h"

namespace scavenger::perfmodel {

struct Box {
  std::vector<double> low;
  std::vector<double> high;
};

struct Residuals {
  std::vector<double> values;
  Matrix jacobian;  // d values / d x, rows: residuals
};

struct BoundedFit {
  std::vector<double> x;
  double sum_of_squares = 0.0;
  Matrix jacobian;             // at x
  std::vector<bool> at_bound;  // held by the box, with the gradient pressing against it
};

// Minimises |residuals(x)|^2 over the box: Levenberg-Marquardt steps in the variables that their
// bounds do not hold, projected onto the box. Finds a local minimum from `start`.
BoundedFit fit_in_box(const std::function<Residuals(std::span<const double>)>& residuals,
                      std::vector<double> start, const Box& box);

// Minimises any continuous function over the box, by Nelder and Mead's simplex (1965) in variables
// clamped to the box, restarted until a restart no longer helps. No derivatives needed.
std::vector<double> minimise_in_box(const std::function<double(std::span<const double>)>& function,
                                    std::vector<double> start, const Box& box);

}  // namespace scavenger::perfmodel
