#include "perfmodel/machines/transfer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <set>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

// What expectation maximisation needs of a job, whatever its number of rows.
struct Sums {
  Matrix squares;                // X^T X
  std::vector<double> products;  // X^T y
  double values_squared = 0.0;   // y^T y
  double rows = 0.0;
};

Sums sums_of(const TransferJob& job) {
  const std::size_t p = job.features.columns();
  Sums sums{Matrix(p, p), std::vector<double>(p), 0.0, static_cast<double>(job.values.size())};
  for (std::size_t i = 0; i < job.values.size(); ++i) {
    const auto row = job.features.row(i);
    for (std::size_t a = 0; a < p; ++a) {
      sums.products[a] += row[a] * job.values[i];
      for (std::size_t b = 0; b < p; ++b) sums.squares(a, b) += row[a] * row[b];
    }
    sums.values_squared += job.values[i] * job.values[i];
  }
  return sums;
}

Matrix inverse_of(const Matrix& a) {
  const auto factor = Cholesky::of(a);
  if (!factor)
    throw DataError({.what = "the covariance of the jobs' coefficients is not positive definite",
                     .where = "machine model",
                     .remedy = "check the features for values that are not finite"});
  return factor->inverse();
}

std::vector<double> times(const Matrix& a, std::span<const double> x) {
  std::vector<double> y(a.rows());
  for (std::size_t i = 0; i < a.rows(); ++i) y[i] = dot(a.row(i), x);
  return y;
}

struct Coefficients {
  std::vector<double> mean;
  Matrix covariance;
};

// Of one job, given the mean, the precision and the noise over jobs.
Coefficients coefficients_of(const Sums& sums, std::span<const double> mean,
                             const Matrix& precision, double noise_variance) {
  const std::size_t p = mean.size();
  Matrix total = precision;
  std::vector<double> right = times(precision, mean);
  for (std::size_t a = 0; a < p; ++a) {
    right[a] += sums.products[a] / noise_variance;
    for (std::size_t b = 0; b < p; ++b) total(a, b) += sums.squares(a, b) / noise_variance;
  }
  Coefficients found;
  found.covariance = inverse_of(total);
  found.mean = times(found.covariance, right);
  return found;
}

double expected_squares(const Sums& sums, const Coefficients& c) {
  double total = sums.values_squared - 2.0 * dot(c.mean, sums.products) +
                 dot(c.mean, times(sums.squares, c.mean));
  for (std::size_t a = 0; a < c.mean.size(); ++a)
    total += dot(sums.squares.row(a), c.covariance.row(a));
  return total;
}

void check(std::span<const TransferJob> jobs) {
  bool has_rows = false;
  for (const TransferJob& job : jobs) {
    has_rows = has_rows || !job.values.empty();
    if (job.features.rows() != job.values.size() ||
        (!job.values.empty() && job.features.columns() != jobs.front().features.columns()))
      throw DataError({.what = "jobs differ in their features",
                       .where = "machine model",
                       .remedy = "give each row the same features"});
  }
  if (!has_rows)
    throw DataError({.what = "no earlier job has a measurement",
                     .where = "machine model",
                     .remedy = "plan from the catalogue, or name a store of measurements"});
}

}  // namespace

TransferPosterior::TransferPosterior(std::vector<double> mean, Matrix covariance,
                                     double noise_variance)
    : mean_(std::move(mean)), covariance_(std::move(covariance)), noise_variance_(noise_variance) {}

double TransferPosterior::covariance(std::span<const double> a, std::span<const double> b) const {
  return dot(a, times(covariance_, b));
}

TransferPrediction TransferPosterior::predict(std::span<const double> features) const {
  return {dot(mean_, features), covariance(features, features) + noise_variance_};
}

void Transfer::learn(std::span<const TransferJob* const> jobs, const TransferOptions& options,
                     double spread) {
  std::vector<Sums> sums;
  for (const TransferJob* job : jobs)
    if (!job->values.empty()) sums.push_back(sums_of(*job));
  const std::size_t p = sums.front().products.size();
  const auto count = static_cast<double>(sums.size());
  Matrix prior(p, p);
  for (std::size_t a = 0; a < p; ++a)
    prior(a, a) = a == 0 ? options.intercept_spread * options.intercept_spread : spread * spread;
  covariance_ = prior;
  noise_variance_ = 0.01;
  mean_.assign(p, 0.0);
  double rows = 0.0;
  for (const Sums& s : sums) rows += s.rows;
  for (int step = 0; step < options.steps; ++step) {
    const Matrix precision = inverse_of(covariance_);
    std::vector<Coefficients> found;
    double squares = 0.0;
    for (const Sums& s : sums) {
      found.push_back(coefficients_of(s, mean_, precision, noise_variance_));
      squares += expected_squares(s, found.back());
    }
    std::ranges::fill(mean_, 0.0);
    for (const Coefficients& c : found)
      for (std::size_t a = 0; a < p; ++a) mean_[a] += c.mean[a] / count;
    for (std::size_t a = 0; a < p; ++a)
      for (std::size_t b = 0; b < p; ++b) {
        double total = options.prior_degrees * prior(a, b);
        for (const Coefficients& c : found)
          total += c.covariance(a, b) + (c.mean[a] - mean_[a]) * (c.mean[b] - mean_[b]);
        covariance_(a, b) = total / (count + options.prior_degrees);
      }
    noise_variance_ = (squares + 2.0 * options.noise * options.noise) / (rows + 2.0);
  }
  // The mean over the jobs is itself known from so many jobs only.
  for (std::size_t a = 0; a < p; ++a)
    for (std::size_t b = 0; b < p; ++b) covariance_(a, b) *= 1.0 + 1.0 / count;
  jobs_ = sums.size();
  spread_ = spread;
}

Transfer::Transfer(std::span<const TransferJob> jobs, const TransferOptions& options) {
  check(jobs);
  std::vector<const TransferJob*> all;
  std::set<std::size_t> groups;
  for (const TransferJob& job : jobs) {
    if (job.values.empty()) continue;
    all.push_back(&job);
    groups.insert(job.group);
  }
  double spread = options.spreads.at(options.spreads.size() / 2);
  if (options.spreads.size() > 1 && groups.size() > 2) {
    double best = -std::numeric_limits<double>::infinity();
    for (const double candidate : options.spreads) {
      double score = 0.0;
      for (const std::size_t group : groups) {
        std::vector<const TransferJob*> rest;
        std::ranges::copy_if(all, std::back_inserter(rest),
                             [&](const TransferJob* job) { return job->group != group; });
        learn(rest, options, candidate);
        for (const TransferJob* job : all)
          if (job->group == group) score += held_out_score(*this, *job, options.probes);
      }
      if (score > best) {
        best = score;
        spread = candidate;
      }
    }
  }
  learn(all, options, spread);
}

TransferPosterior Transfer::prior() const {
  return {mean_, covariance_, noise_variance_};
}

TransferPosterior Transfer::after(const Matrix& features, std::span<const double> values) const {
  if (values.empty()) return prior();
  TransferJob job{features, {values.begin(), values.end()}, 0};
  Coefficients c = coefficients_of(sums_of(job), mean_, inverse_of(covariance_), noise_variance_);
  return {std::move(c.mean), std::move(c.covariance), noise_variance_};
}

double held_out_score(const Transfer& transfer, const TransferJob& job, std::size_t probes) {
  const std::size_t n = job.values.size();
  if (n <= probes) return 0.0;
  std::vector<bool> known(n, false);
  for (std::size_t i = 0; i < probes; ++i)
    known[probes == 1 ? n / 2 : i * (n - 1) / (probes - 1)] = true;
  const auto count = static_cast<std::size_t>(std::ranges::count(known, true));
  Matrix features(count, job.features.columns());
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    if (!known[i]) continue;
    std::ranges::copy(job.features.row(i), features.row(values.size()).begin());
    values.push_back(job.values[i]);
  }
  const TransferPosterior posterior = transfer.after(features, values);
  double score = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (known[i]) continue;
    const TransferPrediction p = posterior.predict(job.features.row(i));
    const double error = job.values[i] - p.mean;
    score -= 0.5 * (std::log(2.0 * std::numbers::pi * p.variance) + error * error / p.variance);
  }
  return score / static_cast<double>(n - count);
}

}  // namespace scavenger::perfmodel
