// The survival of spot machines that have no wall: some are taken early, the others at a constant
// rate. With no early share it is the exponential distribution.
#pragma once

#include <span>

#include "perfmodel/survival/kaplan_meier.h"
#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

// S(t) = (1 - p (1 - exp(-t / tau))) exp(-lambda t).
struct EarlyHazardParameters {
  double early_share = 0.0;       // p
  double early_seconds = 3600.0;  // tau
  double losses_per_hour = 0.0;   // lambda
};

class EarlyHazard final : public Survival {
 public:
  // Requires 0 <= p < 1, tau > 0 and lambda > 0.
  explicit EarlyHazard(const EarlyHazardParameters& parameters);

  double survival(double age_seconds) const override;
  double hazard(double age_seconds) const override;
  double lived_seconds(double from_seconds, double to_seconds) const override;

  const EarlyHazardParameters& parameters() const { return parameters_; }

 private:
  EarlyHazardParameters parameters_;
  double rate_ = 0.0;  // lambda per second
};

// The maximum likelihood fit to lifetimes, of which those that were not lost, or lived beyond
// `until_seconds`, count as censored there. Throws DataError as KaplanMeier does.
EarlyHazard fit_early_hazard(std::span<const Lifetime> lifetimes, double until_seconds);

// What is assumed before machines were watched: the mean of 1,079 preemptible VMs of 2019.
inline constexpr double kPriorMeanLifeSeconds = 16.1 * 3600.0;

// The constant rate of few lifetimes: the mean of a gamma distribution that began as one loss in
// `prior_mean_life_seconds`. Never fails, also without lifetimes.
EarlyHazard constant_hazard(std::span<const Lifetime> lifetimes,
                            double prior_mean_life_seconds = kPriorMeanLifeSeconds);

}  // namespace scavenger::perfmodel
