// A trained ensemble: profiles with error bars that were calibrated on simulations that it has not
// seen, since the spread of small networks alone is smaller than their true error.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "campaign/surrogate/kriging.h"
#include "campaign/surrogate/perceptron.h"
#include "campaign/surrogate/sample.h"
#include "campaign/surrogate/training.h"

namespace scavenger::surrogate {

struct Prediction {
  std::vector<double> profile;
  std::vector<double> sigma;  // calibrated standard deviation of each bin
};

// The error on simulations that were not trained on.
struct HoldoutError {
  std::size_t profiles = 0;
  double rmse = 0.0;          // over all bins
  double most_rmse = 0.0;     // with 95 % confidence it is at most this
  double within = 0.0;        // share of bins whose error is at most their error bar
  double least_within = 0.0;  // with 95 % confidence it is at least this
  double covered = 0.0;       // share of bins within two sigma
};

class Surrogate final {
 public:
  // `members` were trained on encode(space, samples, ...) of the same samples. Not calibrated yet:
  // sigma is then the spread and the residuals as they are.
  Surrogate(Encoding encoding, std::vector<Perceptron> members, std::span<const Sample> samples);

  // Scales sigma so that 95.45 % of the bins of `holdout` are within two sigma. Does nothing
  // without samples.
  void calibrate(std::span<const Sample> holdout);
  double calibration() const { return factor_; }

  Prediction predict(std::span<const double> parameters) const;
  // The calibrated variance between members, as a mean over bins: what more simulations here would
  // teach.
  double variance(std::span<const double> parameters) const;
  // The expected share of bins whose error is larger than their error bar, by the calibrated
  // variance between members; with the error bars of the nearest simulated point. 0 if there are
  // none.
  double share_outside(std::span<const double> parameters) const;
  // Whether predict() would interpolate.
  bool contains(std::span<const double> parameters) const {
    return encoding_.space.contains(parameters);
  }
  // How much points tell about each other; nothing if there were too few samples to say.
  const std::optional<CorrelationOfPoints>& lengths() const { return encoding_.lengths; }
  HoldoutError error_on(std::span<const Sample> samples) const;

 private:
  struct Outputs {
    std::vector<double> unit;                  // the parameters in [-1, 1]
    std::vector<std::vector<double>> members;  // [member][component]
    std::vector<double> mean;
  };
  void continue_remainder(std::span<const Sample> samples);
  Outputs run(std::span<const double> parameters) const;
  std::vector<double> member_variances(const Outputs& outputs,
                                       std::span<const double> mean_profile) const;
  Prediction uncalibrated(std::span<const double> parameters) const;

  Encoding encoding_;
  std::vector<Perceptron> members_;
  std::optional<Kriging> kriging_;                         // of what members leave
  std::vector<std::vector<std::vector<double>>> weights_;  // [member][component][sample], for it
  struct ErrorBars {
    std::vector<double> unit;  // the point
    std::vector<double> errors;
  };
  std::vector<ErrorBars> error_bars_;  // of the samples that have them
  std::vector<double> residuals_;      // variance of each bin that remains where it was trained
  double least_sigma_ = 0.0;
  bool is_positive_ = false;       // no profile has a value below 0, so no prediction has
  std::vector<bool> may_be_zero_;  // bins that are exactly 0 in some profile
  double factor_ = 1.0;
};

// Trains all members, one after another. Throws what `train` throws.
Surrogate fit_surrogate(const UnitSpace& space, std::span<const Sample> samples,
                        const FitSettings& settings, const TrainMember& train);

}  // namespace scavenger::surrogate
