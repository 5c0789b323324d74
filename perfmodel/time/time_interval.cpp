#include "perfmodel/time/time_interval.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "perfmodel/fit/student.h"
#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kUnbounded = 20.0;  // |ln| of a factor, larger than any that there is
// Half of a departure's variance belongs to one K, or one batch, alone; the other half is shared by
// neighbours, with correlation 1/e at this factor.
constexpr double kOwnHalf = 0.5;
constexpr double kSharedWithin = 4.0;

double log_distance(double a, double b) {
  return std::abs(std::log(a / b));
}

double alike(double a, double b) {
  const double apart = log_distance(a, b);
  const double own = apart < 1e-9 ? kOwnHalf : 0.0;
  return own + (1.0 - kOwnHalf) * std::exp(-apart / std::log(kSharedWithin));
}

double sync_alike(const Configuration& a, const TimeParts& of_a, const Configuration& b,
                  const TimeParts& of_b) {
  return alike(a.workers, b.workers) * of_a.sync_elasticity * of_b.sync_elasticity;
}

double compute_alike(const Configuration& a, const TimeParts& of_a, const Configuration& b,
                     const TimeParts& of_b) {
  return alike(a.local_batch(), b.local_batch()) * of_a.compute_elasticity *
         of_b.compute_elasticity;
}

}  // namespace

std::vector<double> IntervalErrors::shares() const {
  std::vector<double> shares;
  for (const RoughnessLevel& of_sync : sync)
    for (const RoughnessLevel& of_compute : compute)
      for (const RoughnessLevel& of_own : own)
        shares.push_back(of_sync.share * of_compute.share * of_own.share);
  return shares;
}

std::vector<double> weigh_roughnesses(std::span<const double> shares,
                                      std::span<const double> log_evidences) {
  std::vector<double> weights;
  for (std::size_t m = 0; m < shares.size(); ++m)
    weights.push_back(std::log(shares[m]) + log_evidences[m]);
  const double most = *std::ranges::max_element(weights);
  double sum = 0.0;
  for (double& weight : weights) sum += weight = std::exp(weight - most);
  for (double& weight : weights) weight /= sum;
  return weights;
}

double StudentMixture::mean() const {
  return std::inner_product(means.begin(), means.end(), weights.begin(), 0.0);
}

double StudentMixture::reach(double centre, double confidence) const {
  constexpr double kNegligible = 1e-5;
  // Each distribution by itself holds so often within `high`.
  double low = 0.0, high = 0.0;
  const double quantile = student_quantile(confidence, *std::ranges::min_element(degrees));
  for (std::size_t m = 0; m < means.size(); ++m)
    if (weights[m] > kNegligible)
      high = std::max(high, std::abs(means[m] - centre) + quantile * std::sqrt(variances[m]));
  const double precision = 1e-4 * high;
  while (high - low > precision) {
    const double reach = 0.5 * (low + high);
    double inside = 0.0;
    for (std::size_t m = 0; m < means.size(); ++m) {
      if (weights[m] <= kNegligible) continue;
      const double off = means[m] - centre, scale = std::sqrt(variances[m]);
      inside += weights[m] * (student_cdf((reach - off) / scale, degrees[m]) -
                              student_cdf((-reach - off) / scale, degrees[m]));
    }
    (inside < confidence ? low : high) = reach;
  }
  return high;
}

RoughPredictions::RoughPredictions(const TimeFit& fit,
                                   std::span<const TimeObservation> observations,
                                   const IntervalErrors& errors)
    : form_(fit.form()),
      parameters_(fit.parameters()),
      open_(fit.open_parameters().begin(), fit.open_parameters().end()) {
  for (const TimeObservation& o : observations) {
    const double stated = o.standard_error / o.seconds;
    measured_.push_back(o.configuration);
    measured_parts_.push_back(evaluate(form_, parameters_, o.configuration));
    stated_variances_.push_back(stated * stated);
  }
  units_.assign(open_.size(), 1.0);
  for (const TimeObservation& o : observations) observed_.push_back(place(o.configuration));
  for (std::size_t i = 0; i < observed_.size(); ++i)
    residuals_.push_back(std::log(observations[i].seconds / observed_[i].parts.seconds));
  // Each parameter in a unit that changes the observations by about 1, for the sake of
  // conditioning.
  for (std::size_t j = 0; j < open_.size(); ++j) {
    double squares = 1e-4 * open_[j].prior_precision;
    for (const Place& at : observed_) squares += at.slopes[j] * at.slopes[j];
    units_[j] = 1.0 / std::sqrt(squares);
    for (Place& at : observed_) at.slopes[j] *= units_[j];
  }
  for (const RoughnessLevel& sync : errors.sync)
    for (const RoughnessLevel& compute : errors.compute)
      for (const RoughnessLevel& own : errors.own)
        add_level(sync, compute, own, errors.scale_degrees);

  weights_ = weigh_roughnesses(errors.shares(), log_evidences());
}

RoughPredictions::Place RoughPredictions::place(const Configuration& c) const {
  Place at{.configuration = c, .parts = evaluate(form_, parameters_, c)};
  for (std::size_t j = 0; j < open_.size(); ++j)
    at.slopes.push_back(at.parts.gradient[open_[j].parameter] / at.parts.seconds * units_[j]);
  for (std::size_t i = 0; i < measured_.size(); ++i) {
    at.sync.push_back(sync_alike(c, at.parts, measured_[i], measured_parts_[i]));
    at.compute.push_back(compute_alike(c, at.parts, measured_[i], measured_parts_[i]));
  }
  at.nearest = nearest_distance(c, measured_);
  return at;
}

Matrix RoughPredictions::observation_covariance(const Level& level) const {
  const std::size_t n = observed_.size();
  Matrix sigma(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      sigma(i, j) = level.sync_variance * observed_[i].sync[j] +
                    level.compute_variance * observed_[i].compute[j];
    sigma(i, i) += level.own_variance + stated_variances_[i];
  }
  return sigma;
}

// Generalised least squares about the fit's parameters, with their priors, and the likelihood that
// is left when parameters and the scale of all deviations are integrated out.
void RoughPredictions::add_level(const RoughnessLevel& sync, const RoughnessLevel& compute,
                                 const RoughnessLevel& own, double prior_degrees) {
  const std::size_t n = observed_.size(), count = open_.size();
  Level level{.sync_variance = sync.deviation * sync.deviation,
              .compute_variance = compute.deviation * compute.deviation,
              .own_variance = own.deviation * own.deviation};
  const auto factors = Cholesky::of(observation_covariance(level));
  SCAVENGER_CHECK(factors);
  level.inverse = factors->inverse();
  level.weighted = factors->solve(residuals_);

  level.carried = Matrix(count, n);
  for (std::size_t j = 0; j < count; ++j)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        level.carried(j, i) += observed_[k].slopes[j] * level.inverse(k, i);
  Matrix precision(count, count);
  std::vector<double> pull(count), prior(count);
  double squares = dot(residuals_, level.weighted);
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < n; ++i)
        precision(j, k) += level.carried(j, i) * observed_[i].slopes[k];
    // A hint of a prior for what neither the observations nor the priors show.
    prior[j] = open_[j].prior_precision * units_[j] * units_[j] + 1e-10 * precision(j, j);
    precision(j, j) += prior[j];
    const double above = open_[j].above_prior / units_[j];
    pull[j] = dot(level.carried.row(j), residuals_) - prior[j] * above;
    squares += prior[j] * above * above;
  }
  double log_determinant = factors->log_determinant();
  double degrees = static_cast<double>(n) - static_cast<double>(count);
  if (count > 0) {
    const auto parameters = Cholesky::of(precision);
    SCAVENGER_CHECK(parameters);
    level.covariance = parameters->inverse();
    level.step = parameters->solve(pull);
    log_determinant += parameters->log_determinant();
  }
  for (std::size_t j = 0; j < count; ++j) {
    squares -= pull[j] * level.step[j];
    degrees += level.covariance(j, j) * prior[j];
    for (std::size_t i = 0; i < n; ++i) level.weighted[i] -= level.carried(j, i) * level.step[j];
  }
  squares = std::max(0.0, squares);
  level.degrees = prior_degrees + std::max(0.0, degrees);
  level.square = (prior_degrees + squares) / level.degrees;
  level.log_evidence =
      -0.5 * log_determinant - 0.5 * level.degrees * std::log1p(squares / prior_degrees);
  levels_.push_back(std::move(level));
}

RoughPredictions::Known RoughPredictions::predict(const Level& level, std::span<const Place> places,
                                                  const Matrix& between) const {
  const std::size_t n = observed_.size(), count = open_.size();
  Known known{{}, Matrix(places.size(), places.size())};
  std::vector<std::vector<double>> to_observed, gain, open_slopes;
  for (const Place& at : places) {
    std::vector<double> covariance(n), gains(n), slopes = at.slopes;
    for (std::size_t i = 0; i < n; ++i)
      covariance[i] = level.sync_variance * at.sync[i] + level.compute_variance * at.compute[i];
    for (std::size_t i = 0; i < n; ++i) gains[i] = dot(level.inverse.row(i), covariance);
    known.means.push_back(std::log(at.parts.seconds) + dot(covariance, level.weighted) +
                          dot(at.slopes, level.step));
    // What departures do not take up again of the parameters' errors.
    for (std::size_t j = 0; j < count; ++j) slopes[j] -= dot(level.carried.row(j), covariance);
    to_observed.push_back(std::move(covariance));
    gain.push_back(std::move(gains));
    open_slopes.push_back(std::move(slopes));
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t j = 0; j < places.size(); ++j) {
      const Place& a = places[i];
      const Place& b = places[j];
      double variance =
          level.sync_variance * sync_alike(a.configuration, a.parts, b.configuration, b.parts) +
          level.compute_variance *
              compute_alike(a.configuration, a.parts, b.configuration, b.parts) -
          dot(gain[i], to_observed[j]);
      for (std::size_t k = 0; k < count; ++k)
        variance += open_slopes[i][k] * dot(level.covariance.row(k), open_slopes[j]);
      known.covariance(i, j) = level.square * variance + between(i, j);
    }
  // ln(seconds) lies within +-nearest of one that was measured. A uniform distribution there has
  // the variance nearest^2 / 3; knowledge from two sources adds in precision.
  std::vector<double> shrink;
  for (std::size_t i = 0; i < places.size(); ++i) {
    double& variance = known.covariance(i, i);
    variance = std::max(1e-12, variance);
    const double bound =
        places[i].nearest * places[i].nearest / 3.0 + level.square * level.own_variance;
    shrink.push_back(std::sqrt(bound / (variance + bound)));
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t j = 0; j < places.size(); ++j) known.covariance(i, j) *= shrink[i] * shrink[j];
  return known;
}

StudentMixture RoughPredictions::log_seconds(const Configuration& c, double between_forms) const {
  const Place at[] = {place(c)};
  Matrix between(1, 1);
  between(0, 0) = between_forms;
  StudentMixture mixture{.weights = weights_};
  for (const Level& level : levels_) {
    const Known known = predict(level, at, between);
    mixture.means.push_back(known.means[0]);
    mixture.variances.push_back(known.covariance(0, 0) + level.square * level.own_variance);
    mixture.degrees.push_back(level.degrees);
  }
  return mixture;
}

StudentMixture RoughPredictions::log_ratio(const Configuration& a, const Configuration& b,
                                           const Matrix& between_forms) const {
  const Place both[] = {place(a), place(b)};
  StudentMixture mixture{.weights = weights_};
  for (const Level& level : levels_) {
    const Known known = predict(level, both, between_forms);
    const Matrix& covariance = known.covariance;
    mixture.means.push_back(known.means[0] - known.means[1]);
    mixture.variances.push_back(
        std::max(1e-12, covariance(0, 0) + covariance(1, 1) - 2.0 * covariance(0, 1)));
    mixture.degrees.push_back(level.degrees);
  }
  return mixture;
}

std::vector<double> RoughPredictions::log_evidences() const {
  std::vector<double> all;
  for (const Level& level : levels_) all.push_back(level.log_evidence);
  return all;
}

double nearest_distance(const Configuration& c, std::span<const Configuration> measured) {
  double nearest = kUnbounded;
  for (const Configuration& m : measured) {
    if ((c.workers == 1.0) != (m.workers == 1.0)) continue;
    const double workers = c.workers == 1.0 ? 0.0 : log_distance(c.workers - 1.0, m.workers - 1.0);
    nearest = std::min(nearest, workers + log_distance(c.local_batch(), m.local_batch()) +
                                    log_distance(c.slowdown, m.slowdown));
  }
  return nearest;
}

}  // namespace scavenger::perfmodel
