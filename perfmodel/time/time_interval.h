// What a measurement of seconds per iteration may be, at configurations that were not measured.
//
// No formula describes a cluster exactly, and tables differ in what is rough about them:
// synchronisation, computing at each batch, or every single configuration. So a fit is judged and
// carried on under each of several roughnesses, 27 in all. Each has a share of the tables that
// others measured, as a prior, and the observations say by their likelihood which ones they come
// from. A prediction is the mixture of all: one Student distribution for each roughness.
// docs/design/perfmodel.md, "Intervals", has the formulas, how the constants were found, and how
// often the intervals hold.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "perfmodel/fit/matrix.h"
#include "perfmodel/time/observation.h"
#include "perfmodel/time/time_fit.h"

namespace scavenger::perfmodel {

// Departures of one kind have this standard deviation, relative, on so many tables.
struct RoughnessLevel {
  double deviation = 0.0;
  double share = 0.0;
};
using RoughnessLevels = std::array<RoughnessLevel, 3>;

// The shares were learnt from tables of others: maximum likelihood of measurements that were held
// out, each table and each way of choosing observations counting alike
// (test/unit/perfmodel/time/calibration_test.cpp). Deviations and degrees are set.
struct IntervalErrors {
  RoughnessLevels sync = {{{0.03, 0.45}, {0.1, 0.48}, {0.9, 0.07}}};
  RoughnessLevels compute = {{{0.02, 0.35}, {0.06, 0.46}, {0.6, 0.19}}};
  RoughnessLevels own = {{{0.01, 0.15}, {0.03, 0.57}, {0.1, 0.28}}};  // of each configuration alone
  // All deviations of a table are common multiples of these; the prior of that scale weighs as
  // much as so many independent errors.
  double scale_degrees = 4.0;

  // Of each roughness: sync by compute by own, the last one fastest.
  std::vector<double> shares() const;
};

// How probable each roughness is after the observations, of which these are the likelihoods.
std::vector<double> weigh_roughnesses(std::span<const double> shares,
                                      std::span<const double> log_evidences);

// Of ln(seconds), or of the logarithm of a ratio: one Student distribution for each roughness.
struct StudentMixture {
  std::vector<double> weights;  // they add up to 1
  std::vector<double> means{};
  std::vector<double> variances{};  // squares of the scales
  std::vector<double> degrees{};

  double mean() const;
  // Half the width of the interval about `centre` that holds with this probability.
  double reach(double centre, double confidence) const;
};

class RoughPredictions final {
 public:
  // Of the observations that the fit was made from.
  RoughPredictions(const TimeFit& fit, std::span<const TimeObservation> observations,
                   const IntervalErrors& errors);

  // ln(seconds) of a new measurement. `between_forms` is the variance of other plausible forms'
  // predictions about this form's.
  StudentMixture log_seconds(const Configuration& c, double between_forms) const;
  // ln(seconds at a / seconds at b), without a measurement's scatter. `between_forms` is the
  // covariance.
  StudentMixture log_ratio(const Configuration& a, const Configuration& b,
                           const Matrix& between_forms) const;
  // ln of the observations' likelihood under each roughness, but for a constant: what the weights
  // are made of beside the shares.
  std::vector<double> log_evidences() const;

 private:
  // The fit under one roughness, to first order about its parameters.
  struct Level {
    double sync_variance = 0.0;
    double compute_variance = 0.0;
    double own_variance = 0.0;
    double log_evidence = 0.0;
    double degrees = 0.0;
    double square = 1.0;             // of the scale of all deviations, after the observations
    Matrix inverse{};                // Sigma^-1 of the observations
    Matrix carried{};                // parameter x observation: slopes^T Sigma^-1
    Matrix covariance{};             // of the parameters, in units_
    std::vector<double> step{};      // of the parameters from the fit's, in units_
    std::vector<double> weighted{};  // Sigma^-1 (residuals that are left after the step)
  };
  // One configuration beside the observations.
  struct Place {
    Configuration configuration{};
    TimeParts parts{};
    std::vector<double> slopes{};   // d ln f / d parameter, in units_
    std::vector<double> sync{};     // covariance with each observation, for departures of 100 %
    std::vector<double> compute{};  // likewise
    double nearest = 0.0;           // by how much ln(seconds) can differ from a measured one's
  };
  struct Known {
    std::vector<double> means;
    Matrix covariance;
  };

  Place place(const Configuration& c) const;
  void add_level(const RoughnessLevel& sync, const RoughnessLevel& compute,
                 const RoughnessLevel& own, double prior_degrees);
  Matrix observation_covariance(const Level& level) const;
  Known predict(const Level& level, std::span<const Place> places, const Matrix& between) const;

  TimeForm form_;
  TimeParameters parameters_;
  std::vector<OpenParameter> open_;
  std::vector<double> units_;  // of the open parameters
  std::vector<Configuration> measured_;
  std::vector<TimeParts> measured_parts_;
  std::vector<double> stated_variances_;
  std::vector<double> residuals_;
  std::vector<Place> observed_;
  std::vector<Level> levels_;
  std::vector<double> weights_;  // of levels_
};

// |ln| of the largest factor by which the formula's seconds can differ from those of the nearest
// measured configuration: no term grows faster than (K - 1) b. One worker does not synchronise, and
// says nothing of several.
double nearest_distance(const Configuration& c, std::span<const Configuration> measured);

}  // namespace scavenger::perfmodel
