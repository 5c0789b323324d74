// How far from its prediction a measurement of seconds per iteration may lie.
//
// A fit of few observations knows little of its own errors, and how well any formula describes a
// table differs from table to table. So an interval is Student's t with the posterior of a variance
// (Gelman et al., Bayesian Data Analysis, 2.6): what tables that others measured showed, as a
// prior, and with it how well this table's observations are each predicted from the others
// (TimeFit::left_out_square). docs/design/perfmodel.md, "Intervals", has the formulas, how the
// constants were found, and how often the intervals hold.
#pragma once

#include <span>

#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

// Learnt from tables of others: maximum likelihood of measurements that were held out, each table
// and each way of choosing observations counting alike
// (test/unit/perfmodel/time/calibration_test.cpp).
struct IntervalErrors {
  // A table's errors are TimeErrors times a scale whose square follows a scaled inverse chi-square
  // distribution over tables.
  double prior_degrees = 1.8;  // what the prior weighs, in independent errors
  double prior_square = 0.82;
  // Relative departure of compute at a batch that is a factor of e from the nearest measured one,
  // beside what the fit allows for; its variance grows with the logarithm of that factor.
  double batch_departure = 0.087;
  // Independent errors that an observation beyond the parameters shows when it is left out: errors
  // with one left out have most of their observations in common. Set, not fitted.
  double left_out_weight = 0.5;
};

// The square of a table's scale of errors, after its observations.
struct ErrorScale {
  double square = 1.0;
  double degrees = 1.0;  // of freedom
};
ErrorScale error_scale_after(const IntervalErrors& before, double left_out_square,
                             double spare_observations);

// What is known of ln(seconds) at one configuration. Variances.
struct PointErrors {
  double fit = 0.0;            // by the best form, for a scale of 1
  double between_forms = 0.0;  // of the plausible forms about the best one
  double measurement = 0.0;    // of a measurement, for a scale of 1
  double compute_elasticity = 0.0;
  double nearest_batch = 0.0;     // |ln| of the factor to the nearest measured local batch
  double nearest_distance = 0.0;  // by how much ln(seconds) can differ from a measured one's
};
// Of ln(seconds), a new measurement's own scatter not included.
double interval_variance(const IntervalErrors& errors, const ErrorScale& scale,
                         const PointErrors& point);

double nearest_batch(const Configuration& c, std::span<const Configuration> measured);
// |ln| of the largest factor by which the formula's seconds can differ from those of the nearest
// measured configuration: no term grows faster than (K - 1) b. One worker does not synchronise, and
// says nothing of several.
double nearest_distance(const Configuration& c, std::span<const Configuration> measured);

}  // namespace scavenger::perfmodel
