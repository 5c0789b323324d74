// Small dense matrices, and Cholesky's factorisation: all the linear algebra that fits of a few
// parameters to some dozens of points need.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace scavenger::perfmodel {

class Matrix final {  // row-major
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns) : columns_(columns), values_(rows * columns) {}

  std::size_t rows() const { return columns_ == 0 ? 0 : values_.size() / columns_; }
  std::size_t columns() const { return columns_; }
  double& operator()(std::size_t row, std::size_t column) {
    return values_[row * columns_ + column];
  }
  double operator()(std::size_t row, std::size_t column) const {
    return values_[row * columns_ + column];
  }
  std::span<double> row(std::size_t index) {
    return std::span(values_).subspan(index * columns_, columns_);
  }
  std::span<const double> row(std::size_t index) const {
    return std::span(values_).subspan(index * columns_, columns_);
  }

 private:
  std::size_t columns_ = 0;
  std::vector<double> values_;
};

double dot(std::span<const double> a, std::span<const double> b);

// The lower triangular L with L L^T = A, for a symmetric positive definite A.
class Cholesky final {
 public:
  // Nothing where A is not positive definite to working precision.
  static std::optional<Cholesky> of(const Matrix& a);

  std::vector<double> solve(std::span<const double> right) const;   // A^-1 right
  std::vector<double> whiten(std::span<const double> right) const;  // L^-1 right
  Matrix inverse() const;
  double log_determinant() const;  // of A

 private:
  explicit Cholesky(Matrix lower) : lower_(std::move(lower)) {}
  Matrix lower_;
};

}  // namespace scavenger::perfmodel
