// A bag of equal jobs on machines that are lost, on a virtual clock: what policies would have done
// with lifetimes from a table. The decisions are those of the rules that a campaign follows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "perfmodel/survival/expected_time.h"
#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

enum class Placement {
  kMachinePerJob,  // each job gets a new machine
  kMemoryless,     // a job runs on whichever machine is there
  kSurvival        // an aged machine or a new one, by ExpectedTime
};

enum class Checkpoints {
  kNone,
  kYoungDaly,  // at equal intervals from the mean life, whatever the age (Young 1974, Daly 2006)
  kSurvival    // next_segment_seconds
};

struct BagPolicy {
  Placement placement = Placement::kSurvival;
  Checkpoints checkpoints = Checkpoints::kSurvival;
};

struct Bag {
  std::size_t jobs = 100;
  double job_seconds = 900.0;
  double job_spread = 0.0;           // standard deviation of a job's seconds, relative
  std::size_t places = 16;           // jobs at once
  std::size_t machines_per_job = 1;  // all are needed, so that the first loss ends an attempt
  double start_seconds = 90.0;
  double checkpoint_seconds = 10.0;
};

struct BagOutcome {
  double makespan_seconds = 0.0;
  double paid_seconds = 0.0;       // of machines, from request to loss or return
  double useful_seconds = 0.0;     // of machines: work that counted, once
  std::size_t machines = 0;        // that were rented
  std::size_t failures = 0;        // losses while a job ran
  std::size_t jobs_with_loss = 0;  // jobs that met a loss at least once
  double overhead() const { return paid_seconds / useful_seconds - 1.0; }
};

// `truth` has the lifetimes, `model` is what the policies believe. The machines of a job are
// started and returned together. The same seed gives the same draws: machine n lives as long under
// every policy. Requires jobs that can end.
BagOutcome simulate_bag(const Bag& bag, const BagPolicy& policy, const Survival& truth,
                        const Survival& model, std::uint64_t seed);

}  // namespace scavenger::perfmodel
