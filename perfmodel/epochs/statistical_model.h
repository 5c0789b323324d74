// Epochs to the target at each global batch B.
//
// Two models, since each is right where the other is wrong:
//   scavenger    e = e* + theta gamma_n(B), gamma_n(B) = a + c / sqrt(B)      Scavenger eq. 6 and 7
//   noise_scale  e = e_min (1 + B / B_c)       McCandlish et al. 2018, eq. 2.11, counted in epochs
// The first falls with B: the learning rate is fixed and the target near the noise floor. The
// second rises with B: the learning rate suits each B. Neither intercept is clamped: on the paper's
// own data e* is negative. The choice is by error on batch sizes that were held out.
//
// Observations must be of one learning-rate phase (or of whole runs with one schedule): noise and
// epochs both depend on it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "perfmodel/fit/least_squares.h"
#include "perfmodel/time/observation.h"

namespace scavenger::perfmodel {

enum class StatisticalForm { kScavenger, kNoiseScale };
std::string_view name_of(StatisticalForm form);  // "scavenger", "noise_scale"

class StatisticalModel final {
 public:
  // Noise at two or more batch sizes. Epochs at two or more batch sizes: both coefficients of e are
  // fitted, on gamma_n as modelled at the batch sizes of the epochs, because that is what
  // predictions will be made from (a fit on noise as measured is diluted by its scatter). Epochs at
  // one batch size: e* = 0. None: relative.
  static StatisticalModel scavenger(std::span<const EpochObservation> epochs,
                                    std::span<const NoiseObservation> noise);

  // Epochs at two or more batch sizes.
  static StatisticalModel noise_scale(std::span<const EpochObservation> epochs);
  // B_c = the gradient's noise scale B_s. Epochs at one batch size give e_min; none: relative.
  static StatisticalModel noise_scale(std::span<const EpochObservation> epochs,
                                      double gradient_noise_scale);

  // Epochs at B; where relative(), in units of the epochs at reference_batch(). A prediction that
  // is not positive (a line followed too far) is returned as it is.
  Estimate epochs(double global_batch) const;

  StatisticalForm form() const { return form_; }
  bool relative() const { return relative_; }
  double reference_batch() const { return reference_batch_; }

  // scavenger: {e*, theta}; noise_scale: {e_min, e_min / B_c}.
  std::span<const double> coefficients() const { return line_.coefficients; }
  // scavenger only: {a, c}.
  std::span<const double> noise_coefficients() const { return noise_line_.coefficients; }

 private:
  StatisticalModel() = default;
  double regressor(double global_batch) const;
  void fit_epochs(std::span<const EpochObservation> epochs, double reference_batch, double offset);

  StatisticalForm form_ = StatisticalForm::kNoiseScale;
  bool relative_ = false;
  double reference_batch_ = 0.0;
  LinearFit line_;         // e on the regressor: gamma_n(B), or B
  LinearFit noise_line_;   // gamma_n on 1 / sqrt(B)
  double scatter_ = 0.0;   // standard deviation of one run's epochs
  double quantile_ = 0.0;  // of Student's t, for the intervals
};

struct ScoredForm {
  StatisticalForm form = StatisticalForm::kNoiseScale;
  // Mean |predicted / actual - 1| over runs whose batch size was left out of the fit.
  double held_out_error = 0.0;
};

struct StatisticalChoice {
  StatisticalModel model;
  std::vector<ScoredForm> scores;  // best first; empty where fewer than three batch sizes were run
};

// Whether these say how epochs depend on the batch size: choose_statistical_model throws else.
bool tells_epochs(std::span<const EpochObservation> epochs, std::span<const NoiseObservation> noise,
                  std::optional<double> gradient_noise_scale);

// The form with the smaller held-out error. Where nothing can be held out: `scavenger` if noise is
// known at two batch sizes (the paper's default), else `noise_scale`. Throws DataError where the
// observations allow neither.
StatisticalChoice choose_statistical_model(std::span<const EpochObservation> epochs,
                                           std::span<const NoiseObservation> noise,
                                           std::optional<double> gradient_noise_scale = {});

}  // namespace scavenger::perfmodel
