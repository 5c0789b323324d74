#include "perfmodel/search/relative_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger::perfmodel {
namespace {

constexpr std::size_t kLaws = 300;
// Departures from a law, relative: shared by neighbours, and each configuration's own.
constexpr double kSharedDeparture = 0.10;
constexpr double kOwnDeparture = 0.03;
constexpr double kAlikeWithin = 4.0;  // factor of K, or of b, over which alikeness falls to 1/e

struct Law {
  double fixed = 0.0;       // a, in samples' worth of computing
  double contention = 0.0;  // k: workers that share processors
  double sync = 0.0;        // s, in samples' worth
  double sync_power = 0.0;  // p
  double overlap = 1.0;     // q

  double log_seconds(const Configuration& c) const {
    const double compute = (fixed + c.local_batch()) * std::pow(c.workers, contention) * c.slowdown;
    if (c.workers <= 1.0) return std::log(compute);
    const double waits = sync * std::pow(c.workers, sync_power);
    return std::log(std::pow(compute, overlap) + std::pow(waits, overlap)) / overlap;
  }
};

// In units of the smallest batch, what an iteration costs beside its samples differs by orders of
// magnitude between jobs.
std::vector<Law> draw_laws(double smallest_batch) {
  RandomStream stream(1, "laws of clusters");
  const auto between = [&](double low, double high) {
    return low + (high - low) * stream.uniform();
  };
  std::vector<Law> laws(kLaws);
  for (Law& law : laws) {
    law.fixed = smallest_batch * std::pow(10.0, between(-2.0, 1.3));
    law.sync = smallest_batch * std::pow(10.0, between(-2.7, 1.0));
    law.sync_power = between(0.0, 1.0);
    law.overlap = stream.uniform() < 0.4 ? 1.0 : between(1.0, 2.5);
    law.contention = stream.uniform() < 0.7 ? 0.0 : between(0.0, 1.0);
  }
  return laws;
}

double departure_covariance(const Configuration& a, const Configuration& b) {
  const double apart = std::abs(std::log(a.workers / b.workers)) +
                       std::abs(std::log(a.local_batch() / b.local_batch()));
  const double shared =
      kSharedDeparture * kSharedDeparture * std::exp(-apart / std::log(kAlikeWithin));
  return a == b ? shared + kOwnDeparture * kOwnDeparture : shared;
}

double standard_normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

std::optional<std::size_t> place_of(std::span<const Configuration> candidates,
                                    const Configuration& wanted) {
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].workers == wanted.workers &&
        candidates[i].global_batch == wanted.global_batch)
      return i;
  return std::nullopt;
}

}  // namespace

double LogRatio::mean() const {
  return std::inner_product(means.begin(), means.end(), weights.begin(), 0.0);
}

double LogRatio::deviation() const {
  const double centre = mean();
  double sum = variance;
  for (std::size_t m = 0; m < means.size(); ++m)
    sum += weights[m] * (means[m] - centre) * (means[m] - centre);
  return std::sqrt(sum);
}

double LogRatio::expected(double power) const {
  double sum = 0.0;
  for (std::size_t m = 0; m < means.size(); ++m)
    sum += weights[m] * std::exp(power * means[m] + 0.5 * power * power * variance);
  return sum;
}

double LogRatio::expected_gain(double factor, double power, double measurement_variance,
                               double resolved_variance) const {
  // Of the mean as it will be known, within a law.
  const double moves = variance * variance / std::max(1e-12, variance + measurement_variance);
  const double spread = std::max(1e-9, power * std::sqrt(moves + resolved_variance));
  const double remains = 0.5 * power * power * (variance - moves - resolved_variance);
  double sum = 0.0;
  for (std::size_t m = 0; m < means.size(); ++m) {
    const double centre = std::log(factor) + power * means[m] + remains;
    const double d = -centre / spread;
    sum += weights[m] * (standard_normal_cdf(d) - std::exp(centre + 0.5 * spread * spread) *
                                                      standard_normal_cdf(d - spread));
  }
  return std::max(0.0, sum);
}

RelativeTimes::RelativeTimes(std::span<const Configuration> candidates,
                             std::span<const PairedTime> pairs)
    : size_(candidates.size()),
      weights_(kLaws, 1.0 / static_cast<double>(kLaws)),
      means_(kLaws, candidates.size()),
      covariance_(candidates.size(), candidates.size()) {
  SCAVENGER_CHECK(!candidates.empty());
  double smallest = candidates.front().global_batch;
  for (const Configuration& c : candidates) smallest = std::min(smallest, c.global_batch);
  const std::vector<Law> laws = draw_laws(smallest);
  for (std::size_t m = 0; m < kLaws; ++m)
    for (std::size_t i = 0; i < size_; ++i) means_(m, i) = laws[m].log_seconds(candidates[i]);
  for (std::size_t i = 0; i < size_; ++i)
    for (std::size_t j = 0; j < size_; ++j)
      covariance_(i, j) = departure_covariance(candidates[i], candidates[j]);
  learn(candidates, pairs);
}

// A Gaussian process, seen through differences: its covariance and its gain are the same for all
// laws.
void RelativeTimes::learn(std::span<const Configuration> candidates,
                          std::span<const PairedTime> pairs) {
  struct Seen {
    std::size_t a, b;
    double log_ratio, variance;
  };
  std::vector<Seen> seen;
  for (const PairedTime& pair : pairs) {
    const auto a = place_of(candidates, pair.a), b = place_of(candidates, pair.b);
    if (a && b && *a != *b) seen.push_back({*a, *b, pair.log_ratio, pair.variance});
  }
  if (seen.empty()) return;
  const std::size_t n = seen.size();
  Matrix cross(size_, n);  // of candidates with the observed differences
  for (std::size_t i = 0; i < size_; ++i)
    for (std::size_t o = 0; o < n; ++o)
      cross(i, o) = covariance_(i, seen[o].a) - covariance_(i, seen[o].b);
  Matrix observed(n, n);
  for (std::size_t o = 0; o < n; ++o)
    for (std::size_t p = 0; p < n; ++p)
      observed(o, p) = cross(seen[o].a, p) - cross(seen[o].b, p) +
                       (o == p ? std::max(1e-6, seen[o].variance) : 0.0);
  const auto factors = Cholesky::of(observed);
  SCAVENGER_CHECK(factors.has_value());
  std::vector<double> squares(kLaws);
  std::vector<double> residual(n);
  for (std::size_t m = 0; m < kLaws; ++m) {
    for (std::size_t o = 0; o < n; ++o)
      residual[o] = seen[o].log_ratio - (means_(m, seen[o].a) - means_(m, seen[o].b));
    const std::vector<double> pulled = factors->solve(residual);
    squares[m] = dot(residual, pulled);
    for (std::size_t i = 0; i < size_; ++i) means_(m, i) += dot(cross.row(i), pulled);
  }
  const double least = *std::min_element(squares.begin(), squares.end());
  double sum = 0.0;
  for (std::size_t m = 0; m < kLaws; ++m)
    sum += weights_[m] = std::exp(-0.5 * (squares[m] - least));
  for (double& weight : weights_) weight /= sum;
  std::vector<std::vector<double>> gain;
  for (std::size_t i = 0; i < size_; ++i) gain.push_back(factors->solve(cross.row(i)));
  for (std::size_t i = 0; i < size_; ++i)
    for (std::size_t j = 0; j < size_; ++j) covariance_(i, j) -= dot(cross.row(i), gain[j]);
}

LogRatio RelativeTimes::ratio(std::size_t i, std::size_t j) const {
  SCAVENGER_CHECK(i < size_ && j < size_);
  LogRatio result;
  result.weights = weights_;
  for (std::size_t m = 0; m < kLaws; ++m) result.means.push_back(means_(m, i) - means_(m, j));
  result.variance = std::max(0.0, covariance_(i, i) + covariance_(j, j) - 2.0 * covariance_(i, j));
  return result;
}

}  // namespace scavenger::perfmodel
