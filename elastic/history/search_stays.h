// A run's memberships as the search `auto` sees them: where the job trained, and what was a look
// at another configuration. Pure.
#pragma once

#include <vector>

#include "elastic/history/run_numbers.h"
#include "perfmodel/search/exploration.h"
#include "perfmodel/search/measured_progress.h"
#include "perfmodel/time/mixed_cluster.h"

namespace scavenger::elastic {

// What so many workers cost in a second. If they have no price, a worker-hour counts as a
// dollar.
double dollars_per_second(double workers, double price_per_worker_hour,
                          const perfmodel::MachinePool& machines);

struct SearchStays {
  std::vector<perfmodel::Stay> stays;  // begin with a base; empty before there is a membership
  double elapsed_dollars = 0.0;        // of all memberships, by the price above
  double change_seconds = 0.0;  // mean of what a move took; what is usual before there was one
  double start_seconds = 0.0;   // mean of what workers were waited for; before: see below
  bool is_complete = true;      // false: old memberships were folded together
};

// Memberships with another size than the search has asked for (somebody is missing for the moment)
// are left out, and so are evaluations, also where new machines wait for them: a job has them
// wherever it trains. `is_remote`: new workers get machines of their own, which take as long to
// start as the job's first ones did until more is known.
SearchStays search_stays(const RunNumbers& numbers, double price_per_worker_hour,
                         const perfmodel::MachinePool& machines, bool is_remote);

// The training loss as it was logged, each part with the batch of its membership. Parts that reach
// across a change of membership are left out.
std::vector<perfmodel::LossPoint> training_losses(const RunNumbers& numbers);

}  // namespace scavenger::elastic
