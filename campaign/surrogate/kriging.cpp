#include "campaign/surrogate/kriging.h"

#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::surrogate {
namespace {

// Variances, where that of the process is 1: from the first one on, each the square root of 10
// times the one before.
constexpr double kQuietest = 1e-5;
constexpr int kNoises = 13;

}  // namespace

Kriging::Kriging(const CorrelationOfPoints& process, std::vector<std::vector<double>> units,
                 std::span<const double> steps, std::span<const std::vector<double>> values)
    : process_(process), units_(std::move(units)), noises_(values.size(), kQuietest) {
  const std::size_t n = units_.size();
  SCAVENGER_CHECK(steps.size() == n);
  perfmodel::Matrix exact(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) exact(i, j) = process_.covariance(units_[i], units_[j]);
  std::map<double, perfmodel::Cholesky> factors;
  std::vector<double> least(values.size(), std::numeric_limits<double>::infinity());
  for (int step = 0; step < kNoises; ++step) {
    const double noise = kQuietest * std::pow(10.0, 0.5 * step);
    perfmodel::Matrix noisy = exact;
    for (std::size_t i = 0; i < n; ++i) noisy(i, i) += noise / steps[i];
    auto factored = perfmodel::Cholesky::of(noisy);
    SCAVENGER_CHECK(factored);
    const perfmodel::Cholesky& factor = factors.emplace(noise, *std::move(factored)).first->second;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::vector<double> white = factor.whiten(values[k]);
      // Minus the logarithm of the likelihood, where one variance of the process is its best.
      const double misfit = static_cast<double>(n) * std::log(perfmodel::dot(white, white)) +
                            factor.log_determinant();
      if (!(misfit < least[k])) continue;
      least[k] = misfit;
      noises_[k] = noise;
    }
  }
  for (const double noise : noises_) factors_.insert(factors.extract(noise));
}

std::vector<double> Kriging::weights(std::size_t component, std::span<const double> left) const {
  return factors_.at(noises_[component]).solve(left);
}

std::vector<double> Kriging::covariances(std::span<const double> unit) const {
  std::vector<double> covariances;
  for (const std::vector<double>& other : units_)
    covariances.push_back(process_.covariance(unit, other));
  return covariances;
}

}  // namespace scavenger::surrogate
