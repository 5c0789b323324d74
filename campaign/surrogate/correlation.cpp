#include "campaign/surrogate/correlation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "perfmodel/fit/bounded_fit.h"
#include "perfmodel/fit/matrix.h"
#include "runtime/base/check.h"

namespace scavenger::surrogate {
namespace {

// The prior of the affine function is so wide that it is not known.
constexpr double kAffineVariance = 100.0;
constexpr double kShortest = 0.2, kLongest = 20.0;
constexpr double kLeastNoise = 1e-5, kFirstNoise = 1e-3, kMostNoise = 10.0;
constexpr double kNoTrace = 1e-300;
// The time of the fit grows with the third power.
constexpr std::size_t kMostFitted = 96;

double kernel(std::span<const double> a, std::span<const double> b,
              std::span<const double> lengths) {
  double affine = 1.0, squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    affine += a[i] * b[i];
    squares += (a[i] - b[i]) * (a[i] - b[i]) / (lengths[i] * lengths[i]);
  }
  const double r = std::sqrt(5.0 * squares);
  return kAffineVariance * affine + (1.0 + r + r * r / 3.0) * std::exp(-r);
}

// Of at most kMostFitted of the profiles, about their mean.
perfmodel::Matrix products_of(std::span<const std::vector<double>> profiles,
                              std::span<const std::size_t> chosen) {
  const std::size_t bins = profiles.front().size();
  std::vector<double> mean(bins, 0.0);
  for (const std::size_t i : chosen)
    for (std::size_t b = 0; b < bins; ++b)
      mean[b] += profiles[i][b] / static_cast<double>(chosen.size());
  perfmodel::Matrix products(chosen.size(), chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0.0;
      for (std::size_t b = 0; b < bins; ++b)
        sum += (profiles[chosen[i]][b] - mean[b]) * (profiles[chosen[j]][b] - mean[b]);
      products(i, j) = products(j, i) = sum;
    }
  return products;
}

// Evenly over the simulations, which came in the order of the space.
std::vector<std::size_t> some_of(std::size_t count) {
  const std::size_t most = std::min(count, kMostFitted);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(i * count / most);
  return chosen;
}

}  // namespace

CorrelationOfPoints::CorrelationOfPoints(std::span<const std::vector<double>> units,
                                         std::span<const std::vector<double>> profiles) {
  SCAVENGER_CHECK(units.size() >= 2 && profiles.size() == units.size());
  std::vector<std::size_t> varying;
  for (std::size_t i = 0; i < units.front().size(); ++i)
    if (std::ranges::any_of(units, [&](const auto& unit) { return unit[i] != units.front()[i]; }))
      varying.push_back(i);
  const std::vector<std::size_t> chosen = some_of(units.size());
  const std::size_t n = chosen.size();
  const perfmodel::Matrix products = products_of(profiles, chosen);
  lengths_.assign(units.front().size(), kLongest);
  const auto set = [&](std::span<const double> logarithms) {
    for (std::size_t i = 0; i < varying.size(); ++i) lengths_[varying[i]] = std::exp(logarithms[i]);
    noise_ = std::exp(logarithms.back());
  };
  // Minus the logarithm of the likelihood, where one variance for all values is its best.
  const auto misfit = [&](std::span<const double> logarithms) {
    set(logarithms);
    perfmodel::Matrix covariances(n, n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        covariances(i, j) =
            kernel(units[chosen[i]], units[chosen[j]], lengths_) + (i == j ? noise_ : 0.0);
    const auto cholesky = perfmodel::Cholesky::of(covariances);
    if (!cholesky) return HUGE_VAL;
    double trace = 0.0;
    for (std::size_t i = 0; i < n; ++i) trace += cholesky->solve(products.row(i))[i];
    return static_cast<double>(n) * std::log(std::max(trace, kNoTrace)) +
           cholesky->log_determinant();
  };
  perfmodel::Box box{std::vector<double>(varying.size(), std::log(kShortest)),
                     std::vector<double>(varying.size(), std::log(kLongest))};
  box.low.push_back(std::log(kLeastNoise));
  box.high.push_back(std::log(kMostNoise));
  std::vector<double> start(varying.size(), 0.0);
  start.push_back(std::log(kFirstNoise));
  set(perfmodel::minimise_in_box(misfit, start, box));
}

CorrelationOfPoints::CorrelationOfPoints(std::vector<double> lengths, double noise)
    : lengths_(std::move(lengths)), noise_(noise) {
  SCAVENGER_CHECK(std::ranges::all_of(lengths_, [](double length) { return length > 0.0; }));
  SCAVENGER_CHECK(noise_ > 0.0);
}

double CorrelationOfPoints::covariance(std::span<const double> a, std::span<const double> b) const {
  return kernel(a, b, lengths_);
}

}  // namespace scavenger::surrogate
