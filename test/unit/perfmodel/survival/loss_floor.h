// The fewest losses that any placement can have on machines of a survival curve that it knows: what
// policies are held against. Work is kept up to the moment of a loss, as with checkpoints that cost
// nothing, and a replacement is there at once.
#pragma once

#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

struct LossFloor {
  double losses_per_second = 0.0;  // of work
  double idle_seconds = 0.0;       // the age at which machines begin to work
  double retire_seconds = 0.0;     // the age at which they are returned
};

// For work without an end: of all ages between which machines may be used, those with the fewest
// losses per second of work. By renewal it is (S(idle) - S(retire)) / int_idle^retire S. Machines
// that wait before they work cost money, which `most_overhead` limits: (start + the life before
// the work) / work. With `may_wait` false they work from their start on.
LossFloor loss_floor(const Survival& truth, double start_seconds, double most_overhead,
                     bool may_wait);

// The same for `work_seconds` of work that begin on a new machine, since the machines of a short
// bag are young: by dynamic programming over the work that is left and the age. Machines do not
// wait.
double fewest_losses(const Survival& truth, double work_seconds);

}  // namespace scavenger::perfmodel
