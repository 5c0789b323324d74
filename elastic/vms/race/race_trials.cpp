#include "elastic/vms/race/race_trials.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "elastic/plan/measured_machines.h"

namespace scavenger::elastic {
namespace {

constexpr double kTrialIterations = kMeasuredIterations + 5.0;  // with those that are left out

double log_ratio(const VmRow& row, const VmRow& stay, Policy policy) {
  return std::log(policy_figure(row, policy) / policy_figure(stay, policy));
}

double standard_normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

// E[max(0, 1 - R)] of a lognormal R.
double expected_below_one(double log_mean, double spread) {
  if (spread == 0.0) return std::max(0.0, 1.0 - std::exp(log_mean));
  const double z = -log_mean / spread;
  return standard_normal_cdf(z) -
         std::exp(log_mean + 0.5 * spread * spread) * standard_normal_cdf(z - spread);
}

// E[max(0, R - 1)] of a lognormal R.
double expected_above_one(double log_mean, double spread) {
  return std::exp(log_mean + 0.5 * spread * spread) - 1.0 + expected_below_one(log_mean, spread);
}

}  // namespace

double trial_gain(const VmRow& row, const VmRow& stay, Policy policy,
                  const perfmodel::MachineModel& model) {
  const VmGroup& group = row.base();
  const perfmodel::MachineUse use{group.type_index, group.vms, 1.0, group.share};
  const double spread = std::sqrt(std::max(0.0, row.log_variance - model.variance_after(use, use)));
  return spread > 0.0 ? expected_below_one(log_ratio(row, stay, policy), spread) : 0.0;
}

double trial_price(const VmRow& row, const VmRow& stay, Policy policy, double start_seconds,
                   double iterations_left) {
  const bool is_other_type = row.base().type != stay.base().type;
  const double there = is_other_type ? row.vms() : std::max(0.0, row.vms() - stay.vms());
  const double back = is_other_type ? stay.vms() : std::max(0.0, stay.vms() - row.vms());
  const double price =
      there * row.price_per_hour / row.vms() + back * stay.price_per_hour / stay.vms();
  const double starts =
      start_seconds / std::max(1.0, stay.outcome.seconds.q50) * price / stay.price_per_hour;
  return starts + kTrialIterations / iterations_left *
                      expected_above_one(log_ratio(row, stay, policy), std::sqrt(row.log_variance));
}

double trial_dollars(const VmRow& row, double start_seconds) {
  constexpr double kSecondsOfHour = 3600.0;
  return (start_seconds + kTrialIterations * row.iteration_seconds) / kSecondsOfHour *
         row.price_per_hour;
}

}  // namespace scavenger::elastic
