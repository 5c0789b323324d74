#include "perfmodel/fit/least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

// The normal equations of the chosen columns, each scaled to unit length so that the units of the
// columns do not matter to the conditioning.
struct NormalEquations {
  std::vector<std::size_t> columns;
  std::vector<double> lengths;
  Matrix gram;
  std::vector<double> right;
};

NormalEquations normal_equations(const Matrix& rows, std::span<const double> y,
                                 std::span<const double> weights,
                                 std::vector<std::size_t> columns) {
  const std::size_t n = columns.size();
  NormalEquations result{std::move(columns), std::vector<double>(n, 0.0), Matrix(n, n),
                         std::vector<double>(n, 0.0)};
  for (std::size_t i = 0; i < rows.rows(); ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double x = rows(i, result.columns[j]);
      result.right[j] += weights[i] * x * y[i];
      for (std::size_t k = 0; k <= j; ++k)
        result.gram(j, k) += weights[i] * x * rows(i, result.columns[k]);
    }
  for (std::size_t j = 0; j < n; ++j) {
    const double length = std::sqrt(result.gram(j, j));
    result.lengths[j] = length > 0.0 ? length : 1.0;
  }
  for (std::size_t j = 0; j < n; ++j) {
    result.right[j] /= result.lengths[j];
    for (std::size_t k = 0; k <= j; ++k) {
      result.gram(j, k) /= result.lengths[j] * result.lengths[k];
      result.gram(k, j) = result.gram(j, k);
    }
  }
  return result;
}

// Smallest share of a column's length that must be independent of the others.
constexpr double kIndependence = 1e-10;

std::optional<Cholesky> factor(const NormalEquations& equations) {
  Matrix guarded = equations.gram;
  for (std::size_t j = 0; j < guarded.rows(); ++j) guarded(j, j) -= kIndependence;
  if (!Cholesky::of(guarded)) return std::nullopt;
  return Cholesky::of(equations.gram);
}

std::vector<double> solve(const NormalEquations& equations, const Cholesky& cholesky) {
  std::vector<double> solution = cholesky.solve(equations.right);
  for (std::size_t j = 0; j < solution.size(); ++j) solution[j] /= equations.lengths[j];
  return solution;
}

LinearFit describe(const Matrix& rows, std::span<const double> y, std::span<const double> weights,
                   std::vector<double> coefficients, const NormalEquations& equations,
                   const Cholesky& cholesky) {
  LinearFit fit;
  fit.coefficients = std::move(coefficients);
  double weight_sum = 0.0, mean = 0.0, squares = 0.0, spread = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    weight_sum += weights[i];
    mean += weights[i] * y[i];
  }
  mean /= weight_sum;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double residual = y[i] - fit.predict(rows.row(i));
    squares += weights[i] * residual * residual;
    spread += weights[i] * (y[i] - mean) * (y[i] - mean);
  }
  fit.r_squared = spread > 0.0 ? 1.0 - squares / spread : 1.0;
  fit.degrees_of_freedom = static_cast<double>(y.size() - equations.columns.size());
  fit.residual_variance = fit.degrees_of_freedom > 0.0 ? squares / fit.degrees_of_freedom : 0.0;
  fit.covariance = Matrix(rows.columns(), rows.columns());
  const Matrix inverse = cholesky.inverse();
  for (std::size_t j = 0; j < equations.columns.size(); ++j)
    for (std::size_t k = 0; k < equations.columns.size(); ++k)
      fit.covariance(equations.columns[j], equations.columns[k]) =
          fit.residual_variance * inverse(j, k) / (equations.lengths[j] * equations.lengths[k]);
  return fit;
}

void check_shapes(const Matrix& rows, std::span<const double> y, std::span<const double> weights) {
  SCAVENGER_CHECK(rows.columns() > 0 && rows.rows() == y.size() && weights.size() == y.size());
}

// The active set of Lawson and Hanson: which coefficients are free, and their values.
class ActiveSet final {
 public:
  ActiveSet(const Matrix& rows, std::span<const double> y, std::span<const double> weights)
      : rows_(rows),
        y_(y),
        weights_(weights),
        values_(rows.columns(), 0.0),
        refused_(rows.columns(), false) {}

  void run() {
    // Each round frees one column; the bound only guards against cycling by rounding.
    for (std::size_t round = 0; round < 10 * values_.size() + 10; ++round) {
      const std::size_t column = steepest_column();
      if (column == values_.size()) return;
      free_.push_back(column);
      if (!settle()) {
        std::erase(free_, column);
        refused_[column] = true;
        settle();
      }
    }
  }

  std::vector<std::size_t> free_columns() const { return free_; }

 private:
  // The column held at zero whose growth reduces the error fastest; values_.size() for none.
  std::size_t steepest_column() const {
    std::size_t best = values_.size();
    double steepest = 1e-12;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      if (refused_[j] || std::find(free_.begin(), free_.end(), j) != free_.end()) continue;
      double slope = 0.0, length = 0.0, scale = 0.0;
      for (std::size_t i = 0; i < y_.size(); ++i) {
        const double residual = y_[i] - dot(values_, rows_.row(i));
        slope += weights_[i] * rows_(i, j) * residual;
        length += weights_[i] * rows_(i, j) * rows_(i, j);
        scale += weights_[i] * y_[i] * y_[i];
      }
      const double relative =
          length > 0.0 ? slope / std::sqrt(length * std::max(scale, 1e-300)) : 0.0;
      if (relative > steepest) {
        steepest = relative;
        best = j;
      }
    }
    return best;
  }

  // Solves for the free columns; those that would turn negative are stepped to zero and held.
  bool settle() {
    while (!free_.empty()) {
      const auto equations = normal_equations(rows_, y_, weights_, free_);
      const auto cholesky = factor(equations);
      if (!cholesky) return false;
      const std::vector<double> target = solve(equations, *cholesky);
      double step = 1.0;
      for (std::size_t j = 0; j < free_.size(); ++j)
        if (target[j] <= 0.0)
          step = std::min(step, values_[free_[j]] / (values_[free_[j]] - target[j]));
      for (std::size_t j = 0; j < free_.size(); ++j)
        values_[free_[j]] += step * (target[j] - values_[free_[j]]);
      if (step == 1.0 &&
          std::none_of(target.begin(), target.end(), [](double t) { return t <= 0.0; }))
        return true;
      std::vector<std::size_t> kept;
      for (std::size_t j = 0; j < free_.size(); ++j) {
        if (target[j] <= 0.0 && values_[free_[j]] <= 1e-14 * std::abs(target[j]))
          values_[free_[j]] = 0.0;
        else
          kept.push_back(free_[j]);
      }
      if (kept.size() == free_.size()) return true;  // rounding: no step was left to make
      free_ = std::move(kept);
    }
    return true;
  }

  const Matrix& rows_;
  std::span<const double> y_;
  std::span<const double> weights_;
  std::vector<double> values_;
  std::vector<bool> refused_;
  std::vector<std::size_t> free_;
};

}  // namespace

double LinearFit::standard_error(std::span<const double> row) const {
  double variance = 0.0;
  for (std::size_t j = 0; j < row.size(); ++j) variance += row[j] * dot(covariance.row(j), row);
  return std::sqrt(std::max(variance, 0.0));
}

LinearFit least_squares(const Matrix& rows, std::span<const double> y,
                        std::span<const double> weights) {
  check_shapes(rows, y, weights);
  SCAVENGER_CHECK(rows.rows() >= rows.columns());
  std::vector<std::size_t> columns(rows.columns());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  const auto equations = normal_equations(rows, y, weights, columns);
  const auto cholesky = factor(equations);
  if (!cholesky)
    throw DataError({.what = "the observations cannot tell the model's terms apart",
                     .where = "least squares",
                     .remedy = "add observations that differ in each of the model's variables"});
  return describe(rows, y, weights, solve(equations, *cholesky), equations, *cholesky);
}

LinearFit nonnegative_least_squares(const Matrix& rows, std::span<const double> y,
                                    std::span<const double> weights) {
  check_shapes(rows, y, weights);
  ActiveSet active(rows, y, weights);
  active.run();
  std::vector<std::size_t> columns = active.free_columns();
  std::sort(columns.begin(), columns.end());
  const auto equations = normal_equations(rows, y, weights, columns);
  const auto cholesky = Cholesky::of(equations.gram);
  SCAVENGER_CHECK(cholesky);
  const std::vector<double> free_values = solve(equations, *cholesky);
  std::vector<double> coefficients(rows.columns(), 0.0);
  for (std::size_t j = 0; j < columns.size(); ++j) coefficients[columns[j]] = free_values[j];
  return describe(rows, y, weights, std::move(coefficients), equations, *cholesky);
}

LinearFit fit_line(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> equal(x.size(), 1.0);
  return fit_line(x, y, equal);
}

LinearFit fit_line(std::span<const double> x, std::span<const double> y,
                   std::span<const double> weights) {
  Matrix rows(x.size(), 2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    rows(i, 0) = 1.0;
    rows(i, 1) = x[i];
  }
  return least_squares(rows, y, weights);
}

}  // namespace scavenger::perfmodel
