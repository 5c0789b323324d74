// Seconds per iteration of one job on machines of any type, from what was measured on some.
//
// Each form of machine_form.h is fitted with the normal prior of machine_prior.h (a Gauss-Newton
// step at a time until it rests), and with a departure that varies slowly with the local batch and
// the number of machines and is half shared between types. Forms, and how large departures are,
// are weighed by the evidence of the measurements; a prediction is the mixture. A type that was
// never tried has the bars that the prior leaves it. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "perfmodel/fit/matrix.h"
#include "perfmodel/machines/machine_form.h"
#include "perfmodel/machines/machine_prior.h"

namespace scavenger::perfmodel {

struct MachineObservation {
  MachineUse use;
  double seconds = 0.0;         // per iteration, the mean over about 20 or more
  double standard_error = 0.0;  // of that mean; 0: not known
};

// Of ln(seconds). The seconds themselves: exp(log_mean) is their median.
struct MachinePrediction {
  double log_mean = 0.0;
  double log_variance = 0.0;
  double sync_share = 0.0;
  double quantile(double probability) const;  // of seconds
};

struct MachineModelOptions {
  MachinePriors priors;
  double measurement_spread = 0.015;  // of ln(seconds), added to what an observation states
  std::vector<double> departures{0.03, 0.1, 0.2};  // standard deviations of ln(seconds)
  // What multiplies the prior's own spreads of types, each as likely before anything is measured:
  // types may say more of each other, or less, than is usual. By the evidence of measurements.
  std::vector<double> own_spread_scales{1.0, 4.0};
  bool state_is_elsewhere = false;  // MachineForm
  // A floor is tried from so many different local batches on.
  std::size_t batches_for_floor = 3;
};

// One form with one size of departure, fitted.
class MachineFit final {
 public:
  MachineFit(const MachineForm& form, double departure, const ParameterPrior& prior,
             std::span<const MachineObservation> observations, std::size_t types,
             double measurement_spread);

  MachinePrediction predict(const MachineUse& use) const;
  // Variance of ln(seconds) at `use` after a measurement at `probe`, too, whatever it would say.
  double variance_after(const MachineUse& use, const MachineUse& probe) const;
  double evidence() const { return evidence_; }  // ln density of all observations, linearised
  const MachineForm& form() const { return form_; }
  const MachineParameters& parameters(std::size_t type) const { return parameters_[type]; }

 private:
  double kernel(const MachineUse& a, const MachineParameters& gradient_a, const MachineUse& b,
                const MachineParameters& gradient_b) const;
  double departure_kernel(const MachineUse& a, const MachineUse& b) const;
  std::vector<double> kernels(const MachineUse& use, const MachineParameters& gradient) const;
  void find_parameters();

  MachineForm form_;
  double departure_;
  const ParameterPrior* prior_;
  std::vector<MachineObservation> observations_;
  double measurement_variance_;
  std::vector<MachineParameters> parameters_;  // by type
  std::vector<MachineParameters> gradients_;   // by observation
  std::vector<double> weights_;                // K^-1 residual
  std::vector<Cholesky> factor_;               // of K; one, or none without observations
  double evidence_ = 0.0;
};

class MachineModel final {
 public:
  // Throws DataError if there is no observation, or one is not positive or of no type.
  MachineModel(std::vector<MachineFeatures> types, std::vector<MachineObservation> observations,
               const MachineModelOptions& options = {});
  MachineModel(const MachineModel&) = delete;
  MachineModel& operator=(const MachineModel&) = delete;

  MachinePrediction predict(const MachineUse& use) const;
  double variance_after(const MachineUse& use, const MachineUse& probe) const;

  std::span<const MachineFeatures> types() const { return types_; }
  std::span<const MachineObservation> observations() const { return observations_; }
  bool is_measured(std::size_t type) const;
  const MachineFit& best() const { return fits_[best_]; }

 private:
  std::vector<MachineFeatures> types_;
  std::vector<MachineObservation> observations_;
  std::vector<ParameterPrior> priors_;  // by scale of the own spreads
  std::vector<MachineFit> fits_;
  std::vector<double> plausibilities_;  // of fits_, sum 1
  std::size_t best_ = 0;
};

}  // namespace scavenger::perfmodel
