// The best checkpoints there are, by dynamic programming over (work left, age of the machine), as
// an oracle for rules; and the expected time of any rule on the same grid.
#pragma once

#include <functional>
#include <vector>

#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

// All in seconds; the work is cut into whole steps.
struct CheckpointProblem {
  double step = 60.0;
  double work = 300 * 60.0;
  double checkpoint = 60.0;
  double restart = 120.0;
  bool may_leave = true;  // the machine for a new one, at each checkpoint
};

struct CheckpointOptimum {
  double expected_seconds = 0.0;
  std::vector<double> intervals;  // if nothing is lost
};

// M(j, t) = min over i of E[elapsed] + p M(j - i, t + i + delta) + (1 - p) (r + M(j, 0)); after the
// last part no checkpoint is written.
CheckpointOptimum best_checkpoints(const Survival& survival, const CheckpointProblem& problem,
                                   double age_seconds);

// The same expectation of a rule: (age, work left) -> seconds of work until the next checkpoint, 0
// to leave the machine.
using SegmentRule = std::function<double(double age_seconds, double work_seconds)>;
double expected_seconds_of(const Survival& survival, const CheckpointProblem& problem,
                           double age_seconds, const SegmentRule& rule);

}  // namespace scavenger::perfmodel
