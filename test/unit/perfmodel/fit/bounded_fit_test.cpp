#include "perfmodel/fit/bounded_fit.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

// Rosenbrock's valley as residuals: minimum 0 at (1, 1).
Residuals rosenbrock(std::span<const double> x) {
  Residuals r{{10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]}, Matrix(2, 2)};
  r.jacobian(0, 0) = -20.0 * x[0];
  r.jacobian(0, 1) = 10.0;
  r.jacobian(1, 0) = -1.0;
  return r;
}

double rosenbrock_value(std::span<const double> x) {
  const Residuals r = rosenbrock(x);
  return dot(r.values, r.values);
}

}  // namespace

TEST_CASE("Least squares in a box finds a minimum inside") {
  const BoundedFit fit = fit_in_box(rosenbrock, {-1.2, 1.0}, {{-5, -5}, {5, 5}});
  CHECK(fit.x[0] == Approx(1.0).epsilon(1e-6));
  CHECK(fit.x[1] == Approx(1.0).epsilon(1e-6));
  CHECK_FALSE((fit.at_bound[0] || fit.at_bound[1]));
}

TEST_CASE("Least squares in a box stops at the wall and says so") {
  // With x0 <= 0.5 the best is x0 = 0.5, x1 = 0.25.
  const BoundedFit fit = fit_in_box(rosenbrock, {-1.2, 1.0}, {{-5, -5}, {0.5, 5}});
  CHECK(fit.x[0] == Approx(0.5));
  CHECK(fit.x[1] == Approx(0.25).epsilon(1e-6));
  CHECK(fit.at_bound[0]);
}

TEST_CASE("Minimising without derivatives finds the same two minima") {
  const auto inside = minimise_in_box(rosenbrock_value, {-1.2, 1.0}, {{-5, -5}, {5, 5}});
  CHECK(inside[0] == Approx(1.0).epsilon(1e-3));
  const auto wall = minimise_in_box(rosenbrock_value, {-1.2, 1.0}, {{-5, -5}, {0.5, 5}});
  CHECK(wall[0] == Approx(0.5).epsilon(1e-3));
  CHECK(wall[1] == Approx(0.25).epsilon(1e-2));
}

}  // namespace scavenger::perfmodel
