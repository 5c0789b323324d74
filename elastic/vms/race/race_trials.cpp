#include "elastic/vms/race/race_trials.h"

#include <algorithm>
#include <cmath>

#include "perfmodel/fit/expected_saving.h"

namespace scavenger::elastic {
namespace {

double log_ratio(const VmRow& row, const VmRow& stay, Policy policy) {
  return std::log(policy_figure(row, policy) / policy_figure(stay, policy));
}

// E[max(0, R - 1)] of a lognormal R.
double expected_excess(double log_mean, double spread) {
  return std::expm1(log_mean + 0.5 * spread * spread) +
         perfmodel::expected_saving(log_mean, spread);
}

}  // namespace

double trial_gain(const VmRow& row, const VmRow& stay, Policy policy,
                  const perfmodel::MachineModel& model) {
  const VmGroup& group = row.base();
  const perfmodel::MachineUse use{group.type_index, group.vms, 1.0, group.share};
  const double spread = std::sqrt(std::max(0.0, row.log_variance - model.variance_after(use, use)));
  return spread > 0.0 ? perfmodel::expected_saving(log_ratio(row, stay, policy), spread) : 0.0;
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
                      expected_excess(log_ratio(row, stay, policy), std::sqrt(row.log_variance));
}

double trial_dollars(const VmRow& row, double start_seconds) {
  constexpr double kSecondsOfHour = 3600.0;
  return (start_seconds + kTrialIterations * row.iteration_seconds) / kSecondsOfHour *
         row.price_per_hour;
}

}  // namespace scavenger::elastic
