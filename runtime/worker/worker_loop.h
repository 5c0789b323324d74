// One worker's training: batch -> gradient -> synchronisation, iteration after iteration, and
// evaluation in between. Knows the model as a Trainer and the others as a Synchroniser; what it has
// to tell goes to a function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/config/job_config.h"
#include "runtime/data/batch_assembler.h"
#include "runtime/data/batch_loader.h"
#include "runtime/protocol/control_message.h"
#include "runtime/training/membership.h"
#include "runtime/training/synchroniser.h"
#include "runtime/training/trainer.h"
#include "runtime/worker/half_batch_probe.h"

namespace scavenger {

// Thread: the worker's compute thread. All references must outlive it.
class WorkerLoop final {
 public:
  struct Parts {
    Trainer& trainer;
    Synchroniser& synchroniser;
    BatchLoader& loader;
    const Clock& clock;
    HalfBatchProbe* probe = nullptr;  // none: no asides
  };
  using Report = std::function<void(IterationStats)>;

  // The loader must have been started for `membership` and `rank`.
  WorkerLoop(Parts parts, const JobConfig& config, std::uint64_t samples_per_epoch,
             Membership membership, std::uint32_t rank, Report report);

  std::uint64_t iteration() const { return iteration_; }  // the next one to be done

  // Does one iteration; false where the synchroniser gave up, and iteration() is still to be done.
  // An iteration takes from its begin to that of the next one, but for the aside, so that the times
  // of many add up to wall time. Statistics are reported in batches, about twenty times a second,
  // but an iteration that takes longer than that reports at once.
  bool run_iteration();
  // Reports what has not been reported. A pause follows, whose time is no iteration's.
  void flush();

 private:
  void report(double now_seconds);
  void probe(const Batch& batch, std::uint64_t random_key);

  Parts parts_;
  OptimizerConfig optimizer_;
  std::uint64_t seed_;
  std::uint64_t samples_per_epoch_;
  Membership membership_;
  std::uint32_t rank_;
  Report report_;
  std::uint64_t iteration_;
  IterationStats stats_;
  std::optional<double> begin_seconds_;  // of the iteration under way; none after a pause
  double last_report_seconds_;
  double aside_seconds_ = 0.0;      // of the iteration under way
  double last_pass_seconds_ = 0.0;  // forward and backward
};

// The sums over samples [first, last) of the split that `assembler` was made for. `interrupted` is
// asked before each batch; where it says so, there is no value.
std::optional<Evaluated> evaluate_range(Trainer& trainer, BatchAssembler& assembler,
                                        const Evaluate& request,
                                        const std::function<bool()>& interrupted);

}  // namespace scavenger
