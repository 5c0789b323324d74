#include "perfmodel/time/time_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "perfmodel/fit/bounded_fit.h"
#include "perfmodel/fit/least_squares.h"
#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

// How much the stated sizes of errors weigh against the scatter that is seen, in observations.
constexpr double kErrorPriorDegrees = 4.0;

constexpr double kUsualOverlap = 2.0 / 3.0;
constexpr double kOverlapDeviation = 0.2;
constexpr double kStragglingDeviation = 0.03;
// Of the terms that only a table without K = 1 or with few points leaves open, relative to the
// longest time: hardly more than a hint towards zero.
constexpr double kLooseDeviation = 100.0;

struct Prior {
  double mean = 0.0;
  double deviation = 0.0;  // 0: no prior
};

Prior prior_of(TimeParameter parameter, double longest_seconds, double largest_batch) {
  switch (parameter) {
    case kOverlapShare:
      return {kUsualOverlap, kOverlapDeviation};
    case kStraggling:
      return {0.0, kStragglingDeviation};
    case kSyncBase:
    case kComputeFloor:
      return {0.0, kLooseDeviation * longest_seconds};
    case kSyncPerSample:
      return {0.0, kLooseDeviation * longest_seconds / largest_batch};
    default:
      return {};
  }
}

double correlation(double a, double b, double factor) {
  return std::exp(-std::abs(std::log(a / b)) / std::log(factor));
}

}  // namespace

TimeFit::TimeFit(const TimeForm& form, std::span<const TimeObservation> observations,
                 const TimeErrors& errors)
    : form_(form), errors_(errors) {
  for (std::size_t p = 0; p < kTimeParameters; ++p)
    if (uses(form, static_cast<TimeParameter>(p))) free_.push_back(static_cast<TimeParameter>(p));
  for (const TimeObservation& o : observations) {
    configurations_.push_back(o.configuration);
    log_seconds_.push_back(std::log(o.seconds));
    const double stated = o.standard_error / o.seconds;
    measurement_variances_.push_back(stated > 0.0 ? stated * stated + errors.repeat * errors.repeat
                                                  : errors.unstated_measurement *
                                                        errors.unstated_measurement);
    longest_seconds_ = std::max(longest_seconds_, o.seconds);
    largest_batch_ = std::max(largest_batch_, o.configuration.global_batch);
  }
  std::optional<Mode> best;
  for (const TimeParameters& start : starting_points()) {
    Mode mode = climb(start);
    if (!best || evidence(mode) < evidence(*best)) best = std::move(mode);
  }
  adopt(*best);
}

// Non-negative least squares of the additive form, in relative errors, and shares of its terms.
std::vector<TimeParameters> TimeFit::starting_points() const {
  const std::size_t n = configurations_.size();
  Matrix rows(n, 3);
  std::vector<double> seconds(n), weights(n);
  for (std::size_t i = 0; i < n; ++i) {
    TimeParameters unit{};
    unit[kSyncSlope] = 1.0;
    rows(i, 0) = configurations_[i].slowdown;
    rows(i, 1) = configurations_[i].slowdown * configurations_[i].local_batch();
    rows(i, 2) = evaluate({form_.shape}, unit, configurations_[i]).seconds;
    seconds[i] = std::exp(log_seconds_[i]);
    weights[i] = 1.0 / (seconds[i] * seconds[i]);
  }
  const auto additive = nonnegative_least_squares(rows, seconds, weights).coefficients;
  const double largest_shape =
      std::max(1e-9, rows(static_cast<std::size_t>(
                              std::max_element(configurations_.begin(), configurations_.end(),
                                               [](const Configuration& a, const Configuration& b) {
                                                 return a.workers < b.workers;
                                               }) -
                              configurations_.begin()),
                          2));
  std::vector<TimeParameters> starts;
  for (const double sync : {0.05, 0.5})
    for (const double overlap : {0.3, 0.8}) {
      TimeParameters start{};
      start[kComputeBase] = std::max(additive[0], 0.01 * longest_seconds_);
      start[kComputePerSample] = std::max(additive[1], 1e-3 * longest_seconds_ / largest_batch_);
      start[kSyncBase] = sync * longest_seconds_;
      start[kSyncSlope] = sync * longest_seconds_ / largest_shape;
      start[kStraggling] = 0.01;
      if (form_.overlap) start[kOverlapShare] = overlap;
      if (form_.floor) start[kComputeFloor] = 0.5 * start[kComputeBase];
      if (form_.batch_term) start[kSyncPerSample] = 0.01 * longest_seconds_ / largest_batch_;
      starts.push_back(start);
      if (!form_.overlap) break;
    }
  return starts;
}

Matrix TimeFit::departure_covariance(std::span<const Configuration> a,
                                     std::span<const Configuration> b) const {
  const auto parts_of = [&](std::span<const Configuration> configurations) {
    std::vector<TimeParts> parts;
    for (const Configuration& c : configurations) parts.push_back(evaluate(form_, parameters_, c));
    return parts;
  };
  const auto of_a = parts_of(a);
  const auto of_b = parts_of(b);
  const double sync = errors_.sync_departure * errors_.sync_departure;
  const double compute = errors_.compute_departure * errors_.compute_departure;
  const double own = errors_.sync_departure_per_workers;
  Matrix result(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) {
      const double alike =
          (1.0 - own) * correlation(a[i].workers, b[j].workers, errors_.correlation_factor) +
          (a[i].workers == b[j].workers ? own : 0.0);
      result(i, j) =
          sync * alike * of_a[i].sync_elasticity * of_b[j].sync_elasticity +
          compute * of_a[i].compute_elasticity * of_b[j].compute_elasticity *
              correlation(a[i].local_batch(), b[j].local_batch(), errors_.correlation_factor);
    }
  return result;
}

Matrix TimeFit::observation_covariance() const {
  Matrix result = departure_covariance(configurations_, configurations_);
  for (std::size_t i = 0; i < result.rows(); ++i) result(i, i) += measurement_variances_[i];
  return result;
}

TimeFit::Mode TimeFit::climb(const TimeParameters& start) {
  // The covariance depends on the parameters through the elasticities; it settles in a few rounds.
  constexpr int kRounds = 3;
  parameters_ = start;
  Box box{std::vector<double>(free_.size(), 0.0),
          std::vector<double>(free_.size(), 1e6 * longest_seconds_)};
  for (std::size_t j = 0; j < free_.size(); ++j)
    if (free_[j] == kOverlapShare || free_[j] == kStraggling) box.high[j] = 1.0;
  std::vector<Prior> priors;
  for (const TimeParameter p : free_)
    priors.push_back(prior_of(p, longest_seconds_, largest_batch_));

  Mode mode;
  for (int round = 0; round < kRounds; ++round) {
    const auto cholesky = Cholesky::of(observation_covariance());
    SCAVENGER_CHECK(cholesky);
    const std::size_t n = configurations_.size();
    const auto residuals = [&](std::span<const double> x) {
      TimeParameters trial{};
      for (std::size_t j = 0; j < free_.size(); ++j) trial[free_[j]] = x[j];
      // The errors of ln tau, and what each parameter changes them by.
      std::vector<double> errors(n);
      Matrix slopes(free_.size(), n);  // one row per parameter, to be whitened like the errors
      for (std::size_t i = 0; i < n; ++i) {
        const TimeParts parts = evaluate(form_, trial, configurations_[i]);
        errors[i] = std::log(parts.seconds) - log_seconds_[i];
        for (std::size_t j = 0; j < free_.size(); ++j)
          slopes(j, i) = parts.gradient[free_[j]] / parts.seconds;
      }
      // Whitened, they are independent and of variance 1. Each prior is one more observation.
      Residuals result{cholesky->whiten(errors), Matrix(n + free_.size(), free_.size())};
      for (std::size_t j = 0; j < free_.size(); ++j) {
        const auto column = cholesky->whiten(slopes.row(j));
        for (std::size_t i = 0; i < n; ++i) result.jacobian(i, j) = column[i];
        const Prior& prior = priors[j];
        const double precision = prior.deviation > 0.0 ? 1.0 / prior.deviation : 0.0;
        result.values.push_back((x[j] - prior.mean) * precision);
        result.jacobian(n + j, j) = precision;
      }
      return result;
    };
    std::vector<double> x;
    for (const TimeParameter p : free_) x.push_back(parameters_[p]);
    BoundedFit fit = fit_in_box(residuals, std::move(x), box);
    for (std::size_t j = 0; j < free_.size(); ++j) parameters_[free_[j]] = fit.x[j];
    mode = {parameters_, fit.sum_of_squares, cholesky->log_determinant(), std::move(fit.at_bound)};
  }
  return mode;
}

double TimeFit::evidence(const Mode& mode) const {
  const double n = static_cast<double>(configurations_.size());
  return (kErrorPriorDegrees + n) * std::log1p(mode.penalised_squares / kErrorPriorDegrees) +
         mode.log_determinant;
}

void TimeFit::adopt(const Mode& mode) {
  parameters_ = mode.parameters;
  const double n = static_cast<double>(configurations_.size());
  const double count = static_cast<double>(free_.size());
  score_ = evidence(mode) + 2.0 * count;
  error_scale_ =
      std::sqrt((kErrorPriorDegrees + mode.penalised_squares) / (kErrorPriorDegrees + n));
  degrees_of_freedom_ = kErrorPriorDegrees + std::max(0.0, n - count);

  const auto cholesky = Cholesky::of(observation_covariance());
  SCAVENGER_CHECK(cholesky);
  inverse_covariance_ = cholesky->inverse();
  std::vector<double> residuals;
  for (std::size_t i = 0; i < configurations_.size(); ++i)
    residuals.push_back(log_seconds_[i] -
                        std::log(evaluate(form_, parameters_, configurations_[i]).seconds));
  weighted_residuals_ = cholesky->solve(residuals);

  // Parameters that a bound holds are taken as known; the covariance of the rest is the inverse of
  // the posterior's curvature, with each parameter in its own scale for the sake of conditioning.
  const Matrix precision = parameter_precision(*cholesky);
  std::vector<std::size_t> open;
  for (std::size_t j = 0; j < free_.size(); ++j)
    if (!mode.held[j] && precision(j, j) > 0.0) open.push_back(j);
  for (const std::size_t j : open) {
    // The others' priors are hints, and pull at nothing.
    const bool pulls = free_[j] == kOverlapShare || free_[j] == kStraggling;
    const double mean = prior_of(free_[j], longest_seconds_, largest_batch_).mean;
    open_.push_back(
        {free_[j], prior_precision(free_[j]), pulls ? parameters_[free_[j]] - mean : 0.0});
  }
  Matrix scaled(open.size(), open.size());
  const auto scale = [&](std::size_t j) { return std::sqrt(precision(open[j], open[j])); };
  for (std::size_t j = 0; j < open.size(); ++j)
    for (std::size_t k = 0; k < open.size(); ++k)
      scaled(j, k) = precision(open[j], open[k]) / (scale(j) * scale(k)) + (j == k ? 1e-10 : 0.0);
  const auto scaled_cholesky = Cholesky::of(scaled);
  SCAVENGER_CHECK(scaled_cholesky);
  const Matrix inverse = scaled_cholesky->inverse();
  parameter_covariance_ = Matrix(free_.size(), free_.size());
  for (std::size_t j = 0; j < open.size(); ++j)
    for (std::size_t k = 0; k < open.size(); ++k)
      parameter_covariance_(open[j], open[k]) = inverse(j, k) / (scale(j) * scale(k));
  leave_each_out();
}

// Each observation against what the others predict for it, and error_scale_ raised where that is
// worse than the fit's own scatter says: a flexible formula lies close to few points, and not to
// the next one. The residuals with one point left out follow from those of all (Sundararajan and
// Keerthi 2001).
void TimeFit::leave_each_out() {
  const std::size_t n = configurations_.size();
  const Matrix slopes = log_gradients(configurations_);
  Matrix weighted(n, free_.size());  // Sigma^-1 slopes
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < free_.size(); ++j)
      for (std::size_t k = 0; k < n; ++k)
        weighted(i, j) += inverse_covariance_(i, k) * slopes(k, j);
  double squares = 0.0, count = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    double precision = inverse_covariance_(i, i);  // of the point, given the others
    const double alone = precision;
    for (std::size_t j = 0; j < free_.size(); ++j)
      for (std::size_t k = 0; k < free_.size(); ++k)
        precision -= weighted(i, j) * parameter_covariance_(j, k) * weighted(i, k);
    if (precision < 1e-6 * alone) continue;  // only this point shows some parameter
    squares += weighted_residuals_[i] * weighted_residuals_[i] / precision;
    count += 1.0;
  }
  squares /= error_scale_ * error_scale_;
  error_scale_ *=
      std::max(1.0, std::sqrt((kErrorPriorDegrees + squares) / (kErrorPriorDegrees + count)));
}

// d ln f / d parameter: configurations x free_.
Matrix TimeFit::log_gradients(std::span<const Configuration> configurations) const {
  Matrix result(configurations.size(), free_.size());
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    const TimeParts parts = evaluate(form_, parameters_, configurations[i]);
    for (std::size_t j = 0; j < free_.size(); ++j)
      result(i, j) = parts.gradient[free_[j]] / parts.seconds;
  }
  return result;
}

// Of a parameter's prior. The base of synchronisation lies between nothing and all of the
// synchronisation that there was.
double TimeFit::prior_precision(TimeParameter parameter) const {
  double deviation = prior_of(parameter, longest_seconds_, largest_batch_).deviation;
  if (parameter == kSyncBase) {
    double most_sync = 0.0;
    for (const Configuration& c : configurations_)
      most_sync = std::max(most_sync, evaluate(form_, parameters_, c).sync);
    const double base_deviation = most_sync / std::sqrt(12.0);  // of a uniform distribution
    if (base_deviation > 0.0) deviation = std::min(deviation, base_deviation);
  }
  return deviation > 0.0 ? 1.0 / (deviation * deviation) : 0.0;
}

Matrix TimeFit::parameter_precision(const Cholesky& observations) const {
  const Matrix gradients = log_gradients(configurations_);
  Matrix whitened(free_.size(), configurations_.size());
  std::vector<double> column(configurations_.size());
  for (std::size_t j = 0; j < free_.size(); ++j) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = gradients(i, j);
    const auto white = observations.whiten(column);
    std::copy(white.begin(), white.end(), whitened.row(j).begin());
  }
  Matrix result(free_.size(), free_.size());
  for (std::size_t j = 0; j < free_.size(); ++j) {
    for (std::size_t k = 0; k < free_.size(); ++k)
      result(j, k) = dot(whitened.row(j), whitened.row(k));
    result(j, j) += prior_precision(free_[j]);
  }
  return result;
}

double TimeFit::predict_log(const Configuration& configuration) const {
  const Matrix to_observed = departure_covariance({&configuration, 1}, configurations_);
  return std::log(evaluate(form_, parameters_, configuration).seconds) +
         dot(to_observed.row(0), weighted_residuals_);
}

Matrix TimeFit::log_covariance(std::span<const Configuration> configurations) const {
  const std::size_t n = configurations.size();
  const std::size_t observed = configurations_.size();
  const Matrix to_observed = departure_covariance(configurations, configurations_);
  Matrix gain(n, observed);  // to_observed Sigma^-1
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < observed; ++j)
      gain(i, j) = dot(to_observed.row(i), inverse_covariance_.row(j));
  // What the parameters' errors do that the departures do not take up again.
  Matrix slopes = log_gradients(configurations);
  const Matrix observed_slopes = log_gradients(configurations_);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < free_.size(); ++j)
      for (std::size_t k = 0; k < observed; ++k) slopes(i, j) -= gain(i, k) * observed_slopes(k, j);
  Matrix spread(n, free_.size());  // slopes x parameter covariance
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < free_.size(); ++j)
      spread(i, j) = dot(slopes.row(i), parameter_covariance_.row(j));
  Matrix result = departure_covariance(configurations, configurations);
  const double scale = error_scale_ * error_scale_;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      result(i, j) = scale * (result(i, j) - dot(gain.row(i), to_observed.row(j)) +
                              dot(spread.row(i), slopes.row(j)));
  return result;
}

}  // namespace scavenger::perfmodel
