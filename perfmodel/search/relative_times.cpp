#include "perfmodel/search/relative_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "perfmodel/fit/expected_saving.h"
#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger::perfmodel {
namespace {

constexpr std::size_t kLaws = 300;
constexpr double kShareWithNodes = 0.4;
// Departures from a law, relative: shared by neighbours, and each configuration's own.
constexpr double kSharedDeparture = 0.10;
constexpr double kOwnDeparture = 0.03;
// Clusters depart so much more than that, in standard deviations, this often.
struct Roughness {
  double factor = 1.0;
  double share = 1.0;
};
constexpr std::array<Roughness, 3> kRoughnesses = {{{1.0, 0.6}, {2.5, 0.25}, {6.0, 0.15}}};
constexpr double kAlikeWithin = 4.0;  // factor of K, or of b, over which alikeness falls to 1/e

struct Law {
  double fixed = 0.0;       // a, in samples' worth of computing
  double contention = 0.0;  // k: workers that share processors
  double sync = 0.0;        // s, in samples' worth
  double sync_power = 0.0;  // p
  double overlap = 1.0;     // q
  double node = 0.0;        // workers on one; 0: no nodes
  double inside = 1.0;      // part of s that is left on one

  double log_seconds(const Configuration& c) const {
    const double compute = (fixed + c.local_batch()) * std::pow(c.workers, contention) * c.slowdown;
    if (c.workers <= 1.0) return std::log(compute);
    const double waits =
        sync * std::pow(c.workers, sync_power) * (c.workers <= node ? inside : 1.0);
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
    if (stream.uniform() < kShareWithNodes) {
      law.node = std::pow(2.0, std::floor(between(1.0, 4.0)));
      law.inside = std::pow(10.0, between(-2.0, 0.0));
    }
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
  double sum = 0.0;
  for (std::size_t m = 0; m < means.size(); ++m)
    sum += weights[m] * (variances[m] + (means[m] - centre) * (means[m] - centre));
  return std::sqrt(sum);
}

double LogRatio::expected(double power) const {
  double sum = 0.0;
  for (std::size_t m = 0; m < means.size(); ++m)
    sum += weights[m] * std::exp(power * means[m] + 0.5 * power * power * variances[m]);
  return sum;
}

double LogRatio::expected_gain(double factor, double power, double measurement_variance,
                               double resolved_variance) const {
  double sum = 0.0;
  for (std::size_t m = 0; m < means.size(); ++m) {
    // Of the mean as it will be known, within a law.
    const double moves =
        variances[m] * variances[m] / std::max(1e-12, variances[m] + measurement_variance);
    const double spread = std::max(1e-9, power * std::sqrt(moves + resolved_variance));
    const double remains = 0.5 * power * power * (variances[m] - moves - resolved_variance);
    const double centre = std::log(factor) + power * means[m] + remains;
    sum += weights[m] * expected_saving(centre, spread);
  }
  return std::max(0.0, sum);
}

RelativeTimes::RelativeTimes(std::span<const Configuration> candidates,
                             std::span<const PairedTime> pairs) {
  SCAVENGER_CHECK(!candidates.empty());
  const std::size_t size = candidates.size();
  double smallest = candidates.front().global_batch;
  for (const Configuration& c : candidates) smallest = std::min(smallest, c.global_batch);
  Level smooth{Matrix(kLaws, size), Matrix(size, size)};
  const std::vector<Law> laws = draw_laws(smallest);
  for (std::size_t m = 0; m < kLaws; ++m)
    for (std::size_t i = 0; i < size; ++i) smooth.means(m, i) = laws[m].log_seconds(candidates[i]);
  std::vector<Seen> seen;
  for (const PairedTime& pair : pairs) {
    const auto a = place_of(candidates, pair.a), b = place_of(candidates, pair.b);
    if (a && b && *a != *b) seen.push_back({*a, *b, pair.log_ratio, pair.variance});
  }
  for (const Roughness& roughness : kRoughnesses) {
    Level level = smooth;
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        level.covariance(i, j) = roughness.factor * roughness.factor *
                                 departure_covariance(candidates[i], candidates[j]);
    for (const double likelihood : learn(level, seen))
      weights_.push_back(likelihood + std::log(roughness.share));
    levels_.push_back(std::move(level));
  }
  const double most = *std::ranges::max_element(weights_);
  double sum = 0.0;
  for (double& weight : weights_) sum += weight = std::exp(weight - most);
  for (double& weight : weights_) weight /= sum;
}

// A Gaussian process, seen through differences: its covariance and its gain are the same for all
// laws.
std::vector<double> RelativeTimes::learn(Level& level, std::span<const Seen> seen) {
  std::vector<double> likelihoods(kLaws, 0.0);
  if (seen.empty()) return likelihoods;
  const std::size_t n = seen.size(), size = level.covariance.rows();
  Matrix cross(size, n);  // of candidates with the observed differences
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t o = 0; o < n; ++o)
      cross(i, o) = level.covariance(i, seen[o].a) - level.covariance(i, seen[o].b);
  Matrix observed(n, n);
  for (std::size_t o = 0; o < n; ++o)
    for (std::size_t p = 0; p < n; ++p)
      observed(o, p) = cross(seen[o].a, p) - cross(seen[o].b, p) +
                       (o == p ? std::max(1e-6, seen[o].variance) : 0.0);
  const auto factors = Cholesky::of(observed);
  SCAVENGER_CHECK(factors.has_value());
  std::vector<double> residual(n);
  for (std::size_t m = 0; m < kLaws; ++m) {
    for (std::size_t o = 0; o < n; ++o)
      residual[o] = seen[o].log_ratio - (level.means(m, seen[o].a) - level.means(m, seen[o].b));
    const std::vector<double> pulled = factors->solve(residual);
    likelihoods[m] = -0.5 * (dot(residual, pulled) + factors->log_determinant());
    for (std::size_t i = 0; i < size; ++i) level.means(m, i) += dot(cross.row(i), pulled);
  }
  std::vector<std::vector<double>> gain;
  for (std::size_t i = 0; i < size; ++i) gain.push_back(factors->solve(cross.row(i)));
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) level.covariance(i, j) -= dot(cross.row(i), gain[j]);
  return likelihoods;
}

LogRatio RelativeTimes::ratio(std::size_t i, std::size_t j) const {
  LogRatio result;
  result.weights = weights_;
  for (const Level& level : levels_) {
    const Matrix& between = level.covariance;
    SCAVENGER_CHECK(i < between.rows() && j < between.rows());
    const double variance = std::max(0.0, between(i, i) + between(j, j) - 2.0 * between(i, j));
    for (std::size_t m = 0; m < kLaws; ++m) {
      result.means.push_back(level.means(m, i) - level.means(m, j));
      result.variances.push_back(variance);
    }
  }
  return result;
}

}  // namespace scavenger::perfmodel
