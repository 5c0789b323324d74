// Weighted linear least squares, free or with coefficients that must not be negative.
#pragma once

#include <span>
#include <vector>

#include "perfmodel/fit/matrix.h"

namespace scavenger::perfmodel {

struct LinearFit {
  std::vector<double> coefficients;
  // Of the coefficients, from the scatter of the residuals; all 0 where there are as many
  // coefficients as points. Coefficients held at zero have no variance.
  Matrix covariance;
  double residual_variance = 0.0;   // weighted sum of squares / degrees_of_freedom
  double degrees_of_freedom = 0.0;  // points - free coefficients
  double r_squared = 0.0;           // weighted, about the weighted mean

  double predict(std::span<const double> row) const { return dot(coefficients, row); }
  // Standard error of predict(row).
  double standard_error(std::span<const double> row) const;
};

// Minimises sum_i w_i (y_i - x_i . c)^2 over c. `rows`: one x_i per observation, intercept column
// included by the caller. Requires as many rows as columns at least; throws DataError where the
// columns are not independent on these rows.
LinearFit least_squares(const Matrix& rows, std::span<const double> y,
                        std::span<const double> weights);

// The same with all c_j >= 0, by the active set method (Lawson and Hanson 1974, NNLS). Columns that
// are not independent of those already in are left at zero instead of being an error.
LinearFit nonnegative_least_squares(const Matrix& rows, std::span<const double> y,
                                    std::span<const double> weights);

// y = c[0] + c[1] x, all points with equal weight.
LinearFit fit_line(std::span<const double> x, std::span<const double> y);
LinearFit fit_line(std::span<const double> x, std::span<const double> y,
                   std::span<const double> weights);

}  // namespace scavenger::perfmodel
