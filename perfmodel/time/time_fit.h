// One form of the time model, fitted: parameters, and how far the truth may depart from the
// formula.
//
// Errors are relative. With x a configuration and f the form,
//   ln t_i = ln f(x_i; theta) + d(x_i) + e_i.
// e is the scatter of a measurement. d is the formula's departure from the truth, a Gaussian
// process (Kennedy and O'Hagan 2001): synchronisation departs from S(K) by some share that is alike
// for neighbouring K, in part different for each K (another set of machines, another algorithm of
// the library), and compute from C(b) by a small share that is alike for neighbouring b; each
// counts as much as its term counts in tau (the elasticity). So a configuration that was measured
// pulls its neighbours with it, and the error bars grow with the distance from what was measured.
// theta maximises the posterior; weak priors hold what the points do not show:
//   p ~ N(2/3, 0.2) (backward is two thirds of forward + backward), r ~ |N(0, 0.03)|,
//   s0 and s2 towards 0.
#pragma once

#include <span>
#include <vector>

#include "perfmodel/fit/matrix.h"
#include "perfmodel/time/observation.h"
#include "perfmodel/time/time_form.h"

namespace scavenger::perfmodel {

// Standard deviations are relative: 0.15 is 15 %.
struct TimeErrors {
  double sync_departure = 0.15;
  double sync_departure_per_workers = 0.5;  // share of its variance that each K has for itself
  double compute_departure = 0.02;
  double correlation_factor = 4.0;     // of K, or of b, over which correlation falls to 1/e
  double unstated_measurement = 0.03;  // scatter where an observation states no standard error
  double repeat = 0.01;                // scatter between runs, beside a stated standard error
};

// A parameter that no bound holds, and what its prior says of it.
struct OpenParameter {
  TimeParameter parameter = kComputeBase;
  double prior_precision = 0.0;
  double above_prior = 0.0;  // its value less the prior's mean
};

class TimeFit final {
 public:
  // Requires checked observations with at least two K and two local batches.
  TimeFit(const TimeForm& form, std::span<const TimeObservation> observations,
          const TimeErrors& errors);

  const TimeForm& form() const { return form_; }
  const TimeParameters& parameters() const { return parameters_; }
  // -2 ln(marginal likelihood) + 2 (number of parameters), with the scale of all errors integrated
  // out over a scaled inverse chi-square prior with kPriorDegrees: Akaike's criterion, in a form
  // that is defined however few the points. Smaller is better; only differences mean anything.
  double score() const { return score_; }
  std::span<const OpenParameter> open_parameters() const { return open_; }
  // Of the standard deviations above, as the observations suggest it: by their scatter about the
  // fit, or by how well each is predicted from the others where that is worse. And its degrees of
  // freedom.
  double error_scale() const { return error_scale_; }
  double degrees_of_freedom() const { return degrees_of_freedom_; }

  // ln of the seconds.
  double predict_log(const Configuration& configuration) const;
  // Covariance of predict_log's errors over the configurations, error_scale included.
  Matrix log_covariance(std::span<const Configuration> configurations) const;

 private:
  // A local maximum of the posterior.
  struct Mode {
    TimeParameters parameters{};
    double penalised_squares = 0.0;  // whitened residuals and priors
    double log_determinant = 0.0;    // of the observations' covariance
    std::vector<bool> held;          // by their bounds, over free_
  };

  Matrix departure_covariance(std::span<const Configuration> a,
                              std::span<const Configuration> b) const;
  Matrix observation_covariance() const;
  std::vector<TimeParameters> starting_points() const;
  Mode climb(const TimeParameters& start);
  double evidence(const Mode& mode) const;
  void adopt(const Mode& mode);
  void leave_each_out();
  Matrix log_gradients(std::span<const Configuration> configurations) const;
  double prior_precision(TimeParameter parameter) const;
  Matrix parameter_precision(const Cholesky& observations) const;

  TimeForm form_;
  TimeErrors errors_;
  std::vector<TimeParameter> free_;  // the form's parameters
  std::vector<Configuration> configurations_;
  std::vector<double> log_seconds_;
  std::vector<double> measurement_variances_;
  double longest_seconds_ = 0.0;
  double largest_batch_ = 0.0;

  TimeParameters parameters_{};
  double score_ = 0.0;
  double error_scale_ = 1.0;
  double degrees_of_freedom_ = 0.0;
  std::vector<OpenParameter> open_;
  Matrix inverse_covariance_;               // Sigma^-1 of the observations
  std::vector<double> weighted_residuals_;  // Sigma^-1 (ln t - ln f)
  Matrix parameter_covariance_;             // over free_; zero for parameters held by their bounds
};

}  // namespace scavenger::perfmodel
