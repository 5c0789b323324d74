// What a trial of other machines is worth to a running job: 20 iterations there tell how fast they
// are, and the job stays only if that is better. Pure.
#pragma once

#include "elastic/plan/measured_machines.h"
#include "elastic/vms/vm_plan.h"
#include "perfmodel/machines/machine_model.h"

namespace scavenger::elastic {

// Those that are measured, and about five more: PhaseNumbers::kDiscardedIterations before them, and
// some until the job has moved on. A real audition took 78 iterations for its three shares.
inline constexpr double kTrialIterations = static_cast<double>(kMeasuredIterations) + 5.0;

// Both are shares of what is left of the job if it stays; `row` is what its plan thinks of the
// other machines, and `stay` of those that it has.

// Expected of knowing their pace. They may be expected to be worse.
double trial_gain(const VmRow& row, const VmRow& stay, Policy policy,
                  const perfmodel::MachineModel& model);

// Of machines that start, there and perhaps on the way back, beside others that are paid for, too;
// and of the iterations of the trial, if they take longer, or cost more.
double trial_price(const VmRow& row, const VmRow& stay, Policy policy, double start_seconds,
                   double iterations_left);

// What the machines of the trial cost until it is over.
double trial_dollars(const VmRow& row, double start_seconds);

}  // namespace scavenger::elastic
