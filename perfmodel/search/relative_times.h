// How fast configurations are beside each other, from the first measurement on.
//
// A fit (time_model.h) needs three configurations; a search has to decide where to go when it knows
// one. So this is a mixture of laws: kLaws formulas drawn once from what is known of clusters in
// general,
//   tau = (((a + b) K^k)^q + (s K^p)^q)^(1/q),      b = B / K, the second term for K > 1,
// some of them with nodes: while all workers are on one of them, s is a part of itself. Each law
// departs from the truth as a Gaussian process does (neighbours in K and b alike), and is there
// once for each of several roughnesses, since clusters differ in how far they depart from any
// formula. Each measured ratio shifts every law by its departure, and weighs laws and roughnesses
// by how well they said it. So a step that no law has makes all else uncertain, and worth a look.
// Only ratios take part: a neighbour on the machine who slows down everything says nothing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "perfmodel/fit/matrix.h"
#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

// Two configurations, measured one right after the other.
struct PairedTime {
  Configuration a;
  Configuration b;
  double log_ratio = 0.0;  // ln(seconds per iteration at a / seconds at b)
  double variance = 0.0;   // of that
};

// ln of a ratio: one normal distribution for each law and roughness.
struct LogRatio {
  std::vector<double> weights;  // they add up to 1
  std::vector<double> means;
  std::vector<double> variances;

  double mean() const;
  double deviation() const;             // standard deviation of the mixture
  double expected(double power) const;  // E[ratio^power]
  // What one more measurement, of this variance, may gain by the choice that follows from it:
  // E[max(0, 1 - factor r)], r being E[ratio^power] as it will be known then. `factor` is an
  // expectation, too: of something to that power, of the variance of whose logarithm the
  // measurement resolves so much.
  double expected_gain(double factor, double power, double measurement_variance,
                       double resolved_variance = 0.0) const;
};

class RelativeTimes final {
 public:
  // Pairs of configurations that are no candidates are left out. Requires candidates.
  RelativeTimes(std::span<const Configuration> candidates, std::span<const PairedTime> pairs);

  // Of candidate i beside candidate j.
  LogRatio ratio(std::size_t i, std::size_t j) const;

 private:
  // All laws with the same roughness, which have the same covariance.
  struct Level {
    Matrix means;       // law x candidate: ln(seconds) but for a constant
    Matrix covariance;  // of the departures, after the pairs
  };
  struct Seen {
    std::size_t a, b;
    double log_ratio, variance;
  };
  // Returns the logarithm of each law's likelihood.
  static std::vector<double> learn(Level& level, std::span<const Seen> seen);

  std::vector<Level> levels_;
  std::vector<double> weights_;  // level by level, law by law
};

}  // namespace scavenger::perfmodel
