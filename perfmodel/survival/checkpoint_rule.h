// When to write a checkpoint on machines that may be lost: Young's interval (1974) for the rate at
// which machines of this age are lost, and no work across a known wall.
#pragma once

#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

struct CheckpointCost {
  // Of one checkpoint, with what a segment costs to begin again. Infinite: the work cannot write
  // any. 0 is taken as a millisecond.
  double seconds = 10.0;
  // Machines of which each loss destroys the work since the last checkpoint.
  double machines = 1.0;
};

// sqrt(2 delta / max(hazard(age), mean hazard)) seconds of work. The floor, which is 1 / mean life
// if there is no wall, matters: a fitted curve is nearly without hazard in its middle, and real
// machines are lost there nevertheless.
double checkpoint_interval_seconds(const Survival& survival, double age_seconds,
                                   const CheckpointCost& cost);

// The seconds of work until the next checkpoint for `work_seconds` that are left, as whole parts of
// about the same length; all of it, if no checkpoint is worth its time. The checkpoint is written
// before the wall. 0 if nothing that is worth its checkpoint can be done before the wall: the work
// moves to a new machine.
double next_segment_seconds(const Survival& survival, double age_seconds, double work_seconds,
                            const CheckpointCost& cost);

// An interval that is given, or what is left of it before the wall; 0 if that is not worth its
// checkpoint.
double before_wall_seconds(const Survival& survival, double age_seconds, double interval_seconds,
                           const CheckpointCost& cost);

}  // namespace scavenger::perfmodel
