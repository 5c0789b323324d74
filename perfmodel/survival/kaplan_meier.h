// Kaplan and Meier's estimate of a survival curve from lifetimes of which some were cut short by
// their user (Kaplan and Meier 1958).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

// One machine that was watched.
struct Lifetime {
  double seconds = 0.0;
  // Whether the provider took it away at that age. Otherwise it was returned, or lives still: all
  // that is known is that it lived so long. To count such an end as a loss would double the early
  // failures of the published lifetimes.
  bool lost = false;
};

// S(t) = prod over losses at ages <= t of (1 - lost / alive). After the longest lifetime, if that
// was not a loss, machines are lost at the mean rate of all: losses / seconds.
class KaplanMeier final : public Survival {
 public:
  // Throws DataError if there is no lifetime, none is a loss, or one is not a positive number.
  explicit KaplanMeier(std::span<const Lifetime> lifetimes);

  double survival(double age_seconds) const override;
  // The mean rate over the hour around the age.
  double hazard(double age_seconds) const override;
  double lived_seconds(double from_seconds, double to_seconds) const override;

  // The ages of losses, ascending, and S just after each.
  std::span<const double> ages() const { return ages_; }
  std::span<const double> values() const { return values_; }
  // Greenwood's standard error of S(age).
  double standard_error(double age_seconds) const;

 private:
  std::size_t losses_until(double age_seconds) const;
  double lived_until(double age_seconds) const;

  std::vector<double> ages_;
  std::vector<double> values_;
  std::vector<double> lived_;      // the integral of S from 0 to each age
  std::vector<double> greenwood_;  // sum of lost / (alive (alive - lost))
  double watched_until_ = 0.0;
  double tail_rate_ = 0.0;  // per second, after watched_until_
};

}  // namespace scavenger::perfmodel
