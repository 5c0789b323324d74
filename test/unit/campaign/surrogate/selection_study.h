// How the error falls with the number of simulations, under a rule of selection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "test/unit/campaign/surrogate/surrogate_loop.h"

namespace scavenger::surrogate {

struct CurvePoint {
  double rmse = 0.0;
  double within = 0.0;
};
using Curve = std::map<std::size_t, CurvePoint>;  // by simulations that were trained on

// SCAVENGER_SURROGATE_SEEDS, or 0.
int study_seeds();

// How points are chosen in the rule kUncertainty. The oracles know the true profiles, which no
// campaign does: they show what a rule could reach.
enum class Choice {
  kVariance,        // what tells most of the variance between members
  kDampedVariance,  // the largest variance, damped near points in flight
  kRandom,
  kShareOutside,        // Surrogate::share_outside
  kTrueErrorOracle,     // what tells most of the true squared error
  kTrueOutsideOracle,   // what tells most of the share of bins outside of their error bars
  kBestOfBatchesOracle  // of ten batches (by variance, by true error, at random): whichever leaves
                        // the smallest error on the holdout after the training
};

// Runs a loop whose simulations give `samples`, a batch at a time, until `most` were trained on.
// The errors are those on the loop's holdout.
Curve run_loop(const std::vector<Sample>& samples, LoopSettings settings, std::size_t most,
               Choice choice = Choice::kVariance);

// The mean of several curves; of squares for the RMSE.
Curve mean_of(const std::vector<Curve>& curves);

// The number of simulations, between the sizes, at which the curve reaches the level; infinite if
// it does not.
double simulations_to_rmse(const Curve& curve, double rmse);
double simulations_to_within(const Curve& curve, double within);

// How many simulations one rule needs of another's, over the same seeds.
struct Saving {
  double mean = 0.0;             // of the mean curves
  double low = 0.0, high = 0.0;  // with 95 % confidence, by resampling the seeds
  double median = 0.0;           // simulations of the rule, over seeds
  double other_median = 0.0;
};
Saving saving_of(const std::vector<Curve>& rule, const std::vector<Curve>& other,
                 const std::function<double(const Curve&)>& simulations);

}  // namespace scavenger::surrogate
