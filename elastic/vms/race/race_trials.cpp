#include "elastic/vms/race/race_trials.h"

#include <algorithm>
#include <cmath>

#include "elastic/plan/measured_machines.h"

namespace scavenger::elastic {
namespace {

constexpr double kTrialIterations = kMeasuredIterations + 5.0;  // with those that are left out

double ratio_of(const VmRow& row, const VmRow& stay, Policy policy) {
  return policy_figure(row, policy) / policy_figure(stay, policy);
}

}  // namespace

double trial_gain(const VmRow& row, const VmRow& stay, Policy policy,
                  const perfmodel::MachineModel& model) {
  const VmGroup& group = row.base();
  const perfmodel::MachineUse use{group.type_index, group.vms, 1.0, group.share};
  const double spread = std::sqrt(std::max(0.0, row.log_variance - model.variance_after(use, use)));
  return spread > 0.0 ? expected_gain(std::log(ratio_of(row, stay, policy)), spread) : 0.0;
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
  return starts +
         kTrialIterations / iterations_left * std::max(0.0, ratio_of(row, stay, policy) - 1.0);
}

}  // namespace scavenger::elastic
