// The bathtub curve of preemptible VMs: many are taken early, few in the middle, and all at a wall
// (Kadupitiya, Jadhao and Sharma, HPDC 2020).
#pragma once

#include "perfmodel/survival/kaplan_meier.h"
#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

// F(t) = A (1 - exp(-t / tau1) + exp((t - b) / tau2)), until F reaches 1.
struct BathtubParameters {
  double share = 0.45;            // A
  double early_seconds = 3600.0;  // tau1
  double late_seconds = 2880.0;   // tau2
  double end_seconds = 86400.0;   // b
};

class Bathtub final : public Survival {
 public:
  // Requires 0 < A <= 1 and positive times.
  explicit Bathtub(const BathtubParameters& parameters);

  double survival(double age_seconds) const override;
  double hazard(double age_seconds) const override;
  double lived_seconds(double from_seconds, double to_seconds) const override;

  const BathtubParameters& parameters() const { return parameters_; }
  double last_age_seconds() const { return last_age_seconds_; }  // where F is 1

 private:
  double lost_share(double age_seconds) const;  // F

  BathtubParameters parameters_;
  double last_age_seconds_ = 0.0;
};

// The least squares fit of F to a Kaplan-Meier curve at equal steps of the ages up to
// `until_seconds`, so that parts with few losses count as much as the others.
Bathtub fit_bathtub(const KaplanMeier& curve, double until_seconds);

}  // namespace scavenger::perfmodel
