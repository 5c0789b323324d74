#include "perfmodel/fit/matrix.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {

double dot(std::span<const double> a, std::span<const double> b) {
  SCAVENGER_CHECK(a.size() == b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::optional<Cholesky> Cholesky::of(const Matrix& a) {
  const std::size_t n = a.rows();
  SCAVENGER_CHECK(a.columns() == n || n == 0);
  Matrix lower(n, n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      const double rest = a(i, j) - dot(lower.row(i).first(j), lower.row(j).first(j));
      if (i > j) {
        lower(i, j) = rest / lower(j, j);
      } else {
        if (!(rest > 1e-15 * a(j, j))) return std::nullopt;
        lower(j, j) = std::sqrt(rest);
      }
    }
  }
  return Cholesky(std::move(lower));
}

std::vector<double> Cholesky::whiten(std::span<const double> right) const {
  SCAVENGER_CHECK(right.size() == lower_.rows());
  std::vector<double> x(right.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = (right[i] - dot(lower_.row(i).first(i), std::span(x).first(i))) / lower_(i, i);
  return x;
}

std::vector<double> Cholesky::solve(std::span<const double> right) const {
  std::vector<double> x = whiten(right);
  for (std::size_t i = x.size(); i-- > 0;) {
    for (std::size_t j = i + 1; j < x.size(); ++j) x[i] -= lower_(j, i) * x[j];
    x[i] /= lower_(i, i);
  }
  return x;
}

Matrix Cholesky::inverse() const {
  const std::size_t n = lower_.rows();
  Matrix result(n, n);
  std::vector<double> unit(n);
  for (std::size_t j = 0; j < n; ++j) {
    unit.assign(n, 0.0);
    unit[j] = 1.0;
    const std::vector<double> column = solve(unit);
    for (std::size_t i = 0; i < n; ++i) result(i, j) = column[i];
  }
  return result;
}

double Cholesky::log_determinant() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < lower_.rows(); ++i) sum += 2.0 * std::log(lower_(i, i));
  return sum;
}

}  // namespace scavenger::perfmodel
