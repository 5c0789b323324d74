#include "perfmodel/plan/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

// Half-width of an interval, on the scale of ln(value).
double log_reach(const Estimate& estimate) {
  const double low = std::max(estimate.low, 1e-3 * estimate.value);
  return 0.5 * std::log(estimate.high / low);
}

// The product of two independent estimates, times a known factor.
Estimate product(const Estimate& a, const Estimate& b, double factor) {
  Estimate result;
  result.value = a.value * b.value * factor;
  result.standard_error =
      result.value * std::hypot(a.standard_error / a.value, b.standard_error / b.value);
  const double reach = std::hypot(log_reach(a), log_reach(b));
  result.low = result.value * std::exp(-reach);
  result.high = result.value * std::exp(reach);
  return result;
}

}  // namespace

double billed_seconds(double seconds, const Billing& billing) {
  SCAVENGER_CHECK(seconds >= 0.0);
  const double rounded =
      billing.granularity_seconds > 0.0
          ? std::ceil(seconds / billing.granularity_seconds) * billing.granularity_seconds
          : seconds;
  return std::max(rounded, billing.minimum_seconds);
}

double cluster_cost(double seconds, double workers, const ClusterPrice& price) {
  constexpr double kSecondsPerHour = 3600.0;
  return billed_seconds(seconds, price.billing) / kSecondsPerHour *
         (workers * price.worker_per_hour + price.fixed_per_hour);
}

Estimate cluster_cost(const Estimate& seconds, double workers, const ClusterPrice& price) {
  const double value = cluster_cost(seconds.value, workers, price);
  return {.value = value,
          .standard_error = value * seconds.standard_error / seconds.value,
          .low = cluster_cost(seconds.low, workers, price),
          .high = cluster_cost(seconds.high, workers, price)};
}

JobPrediction predict_job(const Configuration& configuration, const TimeModel& time,
                          const StatisticalModel& statistics, double data_set_samples,
                          const ClusterPrice& price) {
  const Estimate epochs = statistics.epochs(configuration.global_batch);
  if (!(epochs.value > 0.0))
    throw DataError(
        {.what = fmt::format("the statistical model {} predicts {:.3g} epochs at B = {}",
                             name_of(statistics.form()), epochs.value, configuration.global_batch),
         .where = "plan",
         .remedy = "keep to batch sizes nearer to those that were run, or run one more"});
  return predict_epochs(configuration, time, epochs, data_set_samples, price);
}

JobPrediction predict_epochs(const Configuration& configuration, const TimeModel& time,
                             const Estimate& epochs, double data_set_samples,
                             const ClusterPrice& price) {
  JobPrediction job;
  job.configuration = configuration;
  job.epochs = epochs;
  const double iterations_per_epoch = data_set_samples / configuration.global_batch;
  job.iterations = job.epochs.value * iterations_per_epoch;
  const TimePrediction iteration = time.predict(configuration);
  job.iteration_seconds = iteration.seconds;
  job.extrapolated = iteration.extrapolated;
  job.seconds = product(job.epochs, job.iteration_seconds, iterations_per_epoch);
  job.cost = cluster_cost(job.seconds, configuration.workers, price);
  return job;
}

}  // namespace scavenger::perfmodel
