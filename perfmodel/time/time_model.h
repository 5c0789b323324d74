// Seconds per iteration of every configuration, from the measurements of a few.
//
// Tries the forms of time_form.h and predicts with the one whose score (TimeFit::score) is best.
// Where the observations cannot tell forms apart, the first in the order of TimeForm is taken
// (Scavenger's own, linear in K, before the others; without overlap before with), and the spread
// between the plausible forms goes into the error bars.
//
// Values and standard errors, and so what is measured next, are the fit's own. Intervals are
// time_interval.h's, which carries the best form on under each of several roughnesses.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perfmodel/time/observation.h"
#include "perfmodel/time/time_fit.h"
#include "perfmodel/time/time_interval.h"

namespace scavenger::perfmodel {

struct TimeModelOptions {
  TimeErrors errors;
  IntervalErrors interval_errors;
  double confidence = 0.95;
  // Floor and batch term are tried from this many observations on: fewer cannot show them.
  std::size_t observations_for_rare_terms = 8;
};

struct TimePrediction {
  // Of the mean over many iterations; the interval is that of a new measurement.
  Estimate seconds;
  double compute_seconds = 0.0;       // C, by the formula
  double exposed_sync_seconds = 0.0;  // the rest
  bool extrapolated = false;          // K or b outside of what was measured
};

class TimeModel final {
 public:
  // Throws DataError where an observation is impossible (check_observations), or where there are
  // fewer than three, only one K, or only one local batch.
  explicit TimeModel(std::span<const TimeObservation> observations,
                     const TimeModelOptions& options = {});

  TimePrediction predict(const Configuration& configuration) const;
  // The value alone: its interval takes some sixty times as long.
  double seconds(const Configuration& configuration) const;

  // Seconds at `a` over seconds at `b`, whose errors are partly the same.
  Estimate ratio(const Configuration& a, const Configuration& b) const;

  // Covariance of the errors of ln(seconds) over the configurations, between forms included.
  Matrix log_covariance(std::span<const Configuration> configurations) const;
  // Variance of ln(seconds) that a new measurement adds, where its own error is not stated.
  double measurement_variance() const;

  // ln(seconds) of a new measurement: what an interval is made of.
  StudentMixture measured_later(const Configuration& configuration) const;
  const RoughPredictions& rough() const { return *rough_; }

  const TimeFit& best() const { return fits_[best_]; }
  // Every form that was tried, best or not.
  std::span<const TimeFit> fits() const { return fits_; }

 private:
  bool outside(const Configuration& configuration) const;
  // Of the plausible forms' predictions about the best one's, added to `covariance`.
  void add_between_forms(std::span<const Configuration> configurations, Matrix& covariance) const;

  TimeModelOptions options_;
  std::vector<TimeFit> fits_;
  std::vector<double> plausibilities_;  // Akaike weights of fits_
  std::size_t best_ = 0;
  std::optional<RoughPredictions> rough_;  // by the best form; there once the constructor is done
  double fewest_workers_ = 0.0;
  double most_workers_ = 0.0;
  double smallest_batch_ = 0.0;  // local
  double largest_batch_ = 0.0;
};

}  // namespace scavenger::perfmodel
