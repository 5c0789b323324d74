#include "perfmodel/fit/least_squares.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/base/random.h"

namespace scavenger::perfmodel {
namespace {

// Squared error of c on rows, all weights 1.
double squared_error(const Matrix& rows, const std::vector<double>& y,
                     const std::vector<double>& c) {
  double sum = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += std::pow(y[i] - dot(rows.row(i), c), 2);
  return sum;
}

}  // namespace

TEST_CASE("A line's coefficients, errors and R^2 agree with the textbook formulas") {
  const std::vector<double> x{1, 2, 3, 4, 5};
  const std::vector<double> y{2.1, 3.9, 6.2, 7.8, 10.1};

  const LinearFit fit = fit_line(x, y);

  CHECK(fit.coefficients[0] == Approx(0.05).margin(1e-10));
  CHECK(fit.coefficients[1] == Approx(1.99));
  // s^2 = SSE / 3; Var(slope) = s^2 / 10; SSE = 0.107.
  CHECK(fit.residual_variance == Approx(0.107 / 3));
  CHECK(fit.covariance(1, 1) == Approx(0.107 / 30));
  const double row[] = {1.0, 3.0};
  CHECK(fit.standard_error(row) == Approx(std::sqrt(0.107 / 15)));
  CHECK(fit.r_squared == Approx(1 - 0.107 / 39.708).epsilon(1e-4));
}

TEST_CASE("A weight of two counts like a point given twice") {
  const std::vector<double> x{1, 2, 4}, twice_x{1, 2, 2, 4};
  const std::vector<double> y{1, 5, 4}, twice_y{1, 5, 5, 4};

  const LinearFit weighted = fit_line(x, y, std::vector<double>{1, 2, 1});
  const LinearFit twice = fit_line(twice_x, twice_y);

  CHECK(weighted.coefficients[0] == Approx(twice.coefficients[0]));
  CHECK(weighted.coefficients[1] == Approx(twice.coefficients[1]));
}

TEST_CASE("Columns that depend on each other are refused, not fitted to noise") {
  const std::vector<double> same{3, 3, 3};
  CHECK_THROWS_AS(fit_line(same, std::vector<double>{1, 2, 3}), DataError);
}

TEST_CASE("Units of a column do not matter") {
  const std::vector<double> samples{32e9, 64e9, 128e9};
  const LinearFit fit = fit_line(samples, std::vector<double>{1.0, 2.0, 4.0});
  CHECK(fit.coefficients[1] == Approx(1.0 / 32e9));
}

TEST_CASE("Non-negative least squares is optimal: no coefficient can be moved to advantage") {
  RandomStream stream(5, "nnls");
  int held = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Matrix rows(8, 4);
    std::vector<double> y(8);
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 4; ++j) rows(i, j) = stream.normal();
      y[i] = stream.normal();
    }

    const LinearFit fit = nonnegative_least_squares(rows, y, std::vector<double>(8, 1.0));

    const double error = squared_error(rows, y, fit.coefficients);
    for (std::size_t j = 0; j < 4; ++j) {
      REQUIRE(fit.coefficients[j] >= 0.0);
      held += fit.coefficients[j] == 0.0 ? 1 : 0;
      for (const double change : {-1e-4, 1e-4}) {
        std::vector<double> moved = fit.coefficients;
        moved[j] = std::max(0.0, moved[j] + change);
        REQUIRE(squared_error(rows, y, moved) >= error - 1e-12);
      }
    }
  }
  CHECK(held > 100);  // the constraint was at work
  CHECK(held < 700);
}

TEST_CASE("Where no coefficient is negative, both methods agree") {
  Matrix rows(4, 2);
  const std::vector<double> x{1, 2, 3, 4}, y{3.1, 4.9, 7.2, 8.8};
  for (std::size_t i = 0; i < 4; ++i) {
    rows(i, 0) = 1.0;
    rows(i, 1) = x[i];
  }
  const auto free = least_squares(rows, y, std::vector<double>(4, 1.0));
  const auto bounded = nonnegative_least_squares(rows, y, std::vector<double>(4, 1.0));
  CHECK(bounded.coefficients[0] == Approx(free.coefficients[0]));
  CHECK(bounded.coefficients[1] == Approx(free.coefficients[1]));
  CHECK(bounded.covariance(0, 1) == Approx(free.covariance(0, 1)));
}

}  // namespace scavenger::perfmodel
