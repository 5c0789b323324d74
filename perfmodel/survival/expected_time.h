// The expected time of work on a machine of some age, with the machines that take its place if it
// is lost: conditional on the age that the machine has reached. From it follows whether to begin
// on an aged machine or a new one.
#pragma once

#include <vector>

#include "perfmodel/survival/checkpoint_rule.h"
#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

struct Work {
  double seconds = 0.0;        // on a machine that is never lost, without checkpoints
  CheckpointCost checkpoint;   // infinite: none
  double start_seconds = 0.0;  // from the request for a new machine until it works
};

// Expected seconds from now on until the work is done. After a loss a new machine goes on from the
// last checkpoint, by next_segment_seconds; so it may be lost again.
class ExpectedTime final {
 public:
  // Requires work.seconds > 0. `survival` must outlive this.
  ExpectedTime(const Survival& survival, const Work& work);

  // On a machine that is there and has this age. Infinite if the work can never be done: it writes
  // no checkpoints, and no machine lives so long.
  double on_machine_seconds(double age_seconds) const;
  // On a machine that has first to be started.
  double on_new_machine_seconds() const;
  // Whether a machine of this age is at least as good as a new one.
  bool prefers(double age_seconds) const;
  // The age from which on prefers() says no, to a minute or less; infinite if there is none. A
  // machine that is older is returned. `most_seconds` bounds the search.
  double retire_age_seconds(double most_seconds = 10.0 * 86400.0) const;

 private:
  struct Linear;
  double remaining(double work_seconds) const;
  Linear follow(double work_seconds, double age_seconds, double known_until) const;

  const Survival& survival_;
  Work work_;
  double step_ = 0.0;
  std::vector<double> new_machine_;  // [i]: expected seconds of i steps of work at age 0
};

}  // namespace scavenger::perfmodel
