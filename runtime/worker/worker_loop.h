// The training loop of one worker: in each iteration it takes a batch, computes the gradient and
// synchronises. Also evaluates ranges of samples. It accesses the model by a Trainer and the other
// workers by a Synchroniser.
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
#include "runtime/training/worker_iteration.h"
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
    HalfBatchProbe* probe = nullptr;  // null: no noise measurements
  };
  using Report = std::function<void(IterationStats)>;

  // Requires that the loader was started for `membership` and `rank`. `report` gets the statistics.
  WorkerLoop(Parts parts, const JobConfig& config, std::uint64_t samples_per_epoch,
             Membership membership, std::uint32_t rank, Report report);

  std::uint64_t iteration() const { return iteration_; }  // the next iteration to be done
  WorkerIteration next_iteration() const;                 // the same, and as what

  // Does one iteration. Returns false if the synchroniser gave up, so that iteration() is still to
  // be done. If a device computes the norms, they are read when the next backward pass has ended,
  // or at the next flush(), so that nothing waits for them; the iteration is reported then. The
  // time of an iteration lasts from its begin to that of the next one, without noise measurements,
  // so that times add up to wall time. Statistics are reported in batches, about twenty times per
  // second; an iteration that takes longer is reported at once.
  bool run_iteration();
  // Reports the remaining statistics. Call it before a pause, whose time belongs to no iteration.
  void flush();

 private:
  // What was measured in one iteration.
  struct Measured {
    std::uint64_t iteration = 0;
    TrainingStep step = {};
    SyncResult sync = {};
    double data_wait_seconds = 0.0;
    double seconds = 0.0;
    std::optional<HalfBatchNorms> half_batch = {};
  };

  void report(double now_seconds);
  std::optional<HalfBatchNorms> probe(const Batch& batch, std::uint64_t random_key);
  void complete_late();
  void note(Measured measured);

  Parts parts_;
  OptimizerConfig optimizer_;
  std::uint64_t seed_;
  std::uint64_t samples_per_epoch_;
  Membership membership_;
  std::uint32_t rank_;
  Report report_;
  std::uint64_t iteration_;
  IterationStats stats_;
  std::optional<Measured> late_;         // the last iteration, if its norms are late
  std::optional<double> begin_seconds_;  // of the current iteration; none after a pause
  double last_report_seconds_;
  double aside_seconds_ = 0.0;      // noise measurement in the current iteration
  double last_pass_seconds_ = 0.0;  // forward and backward
};

// Returns the sums over samples [first, last) of the split of `assembler`. Calls `interrupted`
// before each batch, and returns nothing if it is true.
std::optional<Evaluated> evaluate_range(Trainer& trainer, BatchAssembler& assembler,
                                        const Evaluate& request,
                                        const std::function<bool()>& interrupted);

}  // namespace scavenger
