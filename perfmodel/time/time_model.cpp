#include "perfmodel/time/time_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

void require_spread(std::span<const TimeObservation> observations) {
  std::set<double> workers, batches;
  for (const TimeObservation& o : observations) {
    workers.insert(o.configuration.workers);
    batches.insert(o.configuration.local_batch());
  }
  const auto refuse = [](std::string what, std::string remedy) {
    throw DataError({.what = std::move(what), .where = "time model", .remedy = std::move(remedy)});
  };
  if (observations.size() < 3)
    refuse(
        fmt::format("{} observation(s) of seconds per iteration are too few", observations.size()),
        "measure at least three configurations; the corners of the (K, B) space are best");
  if (workers.size() < 2)
    refuse(fmt::format("all observations have K = {}", *workers.begin()),
           "measure at least one other number of workers: nothing else shows what synchronisation "
           "costs");
  if (batches.size() < 2)
    refuse(fmt::format("all observations have {} samples per worker", *batches.begin()),
           "measure at least one other batch size: nothing else shows what computing costs");
}

std::vector<TimeForm> forms_to_try(bool rare_terms) {
  std::vector<TimeForm> forms;
  for (const bool batch_term : {false, true})
    for (const bool floor : {false, true})
      for (const bool overlap : {false, true})
        for (const SyncShape shape : {SyncShape::kShard, SyncShape::kTree, SyncShape::kSpread})
          if (rare_terms || (!batch_term && !floor))
            forms.push_back({shape, overlap, floor, batch_term});
  return forms;
}

double deviation_of_difference(double variance_a, double variance_b, double covariance) {
  return std::sqrt(std::max(0.0, variance_a + variance_b - 2.0 * covariance));
}

// Differences of score below this are no evidence.
constexpr double kScoreTie = 0.1;

}  // namespace

TimeModel::TimeModel(std::span<const TimeObservation> observations, const TimeModelOptions& options)
    : options_(options) {
  check_observations(observations);
  require_spread(observations);
  for (const TimeForm& form :
       forms_to_try(observations.size() >= options.observations_for_rare_terms))
    fits_.emplace_back(form, observations, options.errors);
  for (std::size_t i = 1; i < fits_.size(); ++i)
    if (fits_[i].score() < fits_[best_].score() - kScoreTie) best_ = i;
  double sum = 0.0;
  for (const TimeFit& fit : fits_) {
    plausibilities_.push_back(std::exp(-0.5 * (fit.score() - fits_[best_].score())));
    sum += plausibilities_.back();
  }
  for (double& plausibility : plausibilities_) plausibility /= sum;
  rough_.emplace(best(), observations, options_.interval_errors);

  const auto by_workers = [](const TimeObservation& a, const TimeObservation& b) {
    return a.configuration.workers < b.configuration.workers;
  };
  const auto by_batch = [](const TimeObservation& a, const TimeObservation& b) {
    return a.configuration.local_batch() < b.configuration.local_batch();
  };
  const auto workers = std::minmax_element(observations.begin(), observations.end(), by_workers);
  const auto batches = std::minmax_element(observations.begin(), observations.end(), by_batch);
  fewest_workers_ = workers.first->configuration.workers;
  most_workers_ = workers.second->configuration.workers;
  smallest_batch_ = batches.first->configuration.local_batch();
  largest_batch_ = batches.second->configuration.local_batch();
}

bool TimeModel::outside(const Configuration& configuration) const {
  constexpr double kRounding = 1e-9;
  const double b = configuration.local_batch();
  return configuration.workers < fewest_workers_ || configuration.workers > most_workers_ ||
         b < smallest_batch_ * (1.0 - kRounding) || b > largest_batch_ * (1.0 + kRounding);
}

TimePrediction TimeModel::predict(const Configuration& configuration) const {
  const double centre = best().predict_log(configuration);
  const double reach = measured_later(configuration).reach(centre, options_.confidence);
  TimePrediction prediction;
  Estimate& seconds = prediction.seconds;
  seconds.value = std::exp(centre);
  seconds.standard_error = seconds.value * std::sqrt(log_covariance({&configuration, 1})(0, 0));
  seconds.low = std::exp(centre - reach);
  seconds.high = std::exp(centre + reach);
  const TimeParts parts = evaluate(best().form(), best().parameters(), configuration);
  prediction.compute_seconds = parts.compute * seconds.value / parts.seconds;
  prediction.exposed_sync_seconds = seconds.value - prediction.compute_seconds;
  prediction.extrapolated = outside(configuration);
  return prediction;
}

double TimeModel::seconds(const Configuration& configuration) const {
  return std::exp(best().predict_log(configuration));
}

StudentMixture TimeModel::measured_later(const Configuration& configuration) const {
  Matrix between(1, 1);
  add_between_forms({&configuration, 1}, between);
  return rough_->log_seconds(configuration, between(0, 0));
}

Estimate TimeModel::ratio(const Configuration& a, const Configuration& b) const {
  if (a == b) return {1.0, 0.0, 1.0, 1.0};
  const Configuration both[] = {a, b};
  Matrix between(2, 2);
  add_between_forms(both, between);
  const double centre = best().predict_log(a) - best().predict_log(b);
  const double value = std::exp(centre);
  const double reach = rough_->log_ratio(a, b, between).reach(centre, options_.confidence);
  const Matrix covariance = log_covariance(both);
  const double error =
      deviation_of_difference(covariance(0, 0), covariance(1, 1), covariance(0, 1));
  return {value, value * error, value * std::exp(-reach), value * std::exp(reach)};
}

Matrix TimeModel::log_covariance(std::span<const Configuration> configurations) const {
  Matrix result = best().log_covariance(configurations);
  add_between_forms(configurations, result);
  return result;
}

void TimeModel::add_between_forms(std::span<const Configuration> configurations,
                                  Matrix& covariance) const {
  for (std::size_t f = 0; f < fits_.size(); ++f) {
    if (f == best_ || plausibilities_[f] < 1e-3) continue;
    std::vector<double> difference;
    for (const Configuration& c : configurations)
      difference.push_back(fits_[f].predict_log(c) - best().predict_log(c));
    for (std::size_t i = 0; i < difference.size(); ++i)
      for (std::size_t j = 0; j < difference.size(); ++j)
        covariance(i, j) += plausibilities_[f] * difference[i] * difference[j];
  }
}

double TimeModel::measurement_variance() const {
  const double scaled = options_.errors.unstated_measurement * best().error_scale();
  return scaled * scaled;
}

}  // namespace scavenger::perfmodel
