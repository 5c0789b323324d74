// Whether a job on spot machines has to go on with machines on demand to keep its limit of time.
// Pure.
#pragma once

#include <optional>

#include "elastic/vms/vm_plan.h"
#include "perfmodel/machines/outcome.h"

namespace scavenger::elastic {

struct GuardQuestion {
  double iterations = 1.0;             // that are left, the median
  double log_iterations_spread = 0.0;  // standard deviation of their logarithm
  double seconds_left = 0.0;           // until the limit
  std::optional<double> dollars_left;
  double confidence = 0.9;              // with which the limits have to hold
  double workers = 1.0;                 // that the job is to have
  double iteration_seconds = 0.0;       // as measured on the present machines
  double full_iteration_seconds = 0.0;  // the same when all workers were there
  double spot_price = 0.0;              // dollars per hour of each machine
  double on_demand_price = 0.0;
  double losses_per_vm_hour = 0.0;
  double start_seconds = 90.0;  // until a machine that was asked for computes
  double standstill_seconds = VmQuestion().standstill_seconds;  // for each loss
  perfmodel::Sharing sharing = perfmodel::Sharing::kDynamic;
};

struct GuardAnswer {
  bool must_move = false;
  perfmodel::Outcome spot;       // of what is left, if nothing changes
  perfmodel::Outcome on_demand;  // if it goes on with machines on demand from now on
};

// The job must move if what is left holds the limit of time with less than `confidence` on spot
// machines, machines on demand make that likelier by 5 points at least, and the limit of cost holds
// on those. While they start, the present ones train, and both are paid for.
GuardAnswer ask_deadline_guard(const GuardQuestion& question);

// The mean rate of losses of one VM and hour after `losses` in `vm_hours`, where `usual` is likely
// without them. A cloud may be far from what is usual: the prior of its logarithm has heavy tails,
// so that a few losses in a few minutes are believed.
double expected_loss_rate(double usual, double losses, double vm_hours);

}  // namespace scavenger::elastic
