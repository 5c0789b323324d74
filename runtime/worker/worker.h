// One worker, from the moment its model is built until it is told to stop: does what the controller
// says, and trains whenever there is nothing else to do, as far as the grant goes. Takes part in
// one membership after another; docs/synchronisation.md tells how one ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/config/job_config.h"
#include "runtime/data/batch_assembler.h"
#include "runtime/data/batch_loader.h"
#include "runtime/data/data_set.h"
#include "runtime/training/synchroniser.h"
#include "runtime/training/trainer.h"
#include "runtime/worker/worker_commands.h"
#include "runtime/worker/worker_loop.h"

namespace scavenger {

// Thread: the worker's compute thread. All references must outlive it.
class Worker final {
 public:
  struct Parts {
    const JobConfig& config;
    const DataSet& train;
    const DataSet& test;
    Trainer& trainer;
    WorkerCommands& commands;
    const Clock& clock;
  };
  // What it needs from outside, and whom it tells.
  struct Surroundings {
    std::function<std::unique_ptr<Synchroniser>(const SyncGroup&)> make_synchroniser;
    std::function<void(std::uint32_t threads)> use_threads;
    std::function<void(ControlMessage)> post;
    std::function<void(std::uint64_t iteration)> begins_iteration;
  };

  Worker(Parts parts, Surroundings surroundings);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Until Stop. Throws what ends this worker: a lost controller, a loss that is not a number, a
  // message that is not for workers.
  void run();

 private:
  void run_iteration();
  void on(const ConfigureWorker& message);
  void on(const Halt&);
  void on(const Evaluate& message);
  void on(const SendBuffers&);
  void on(const Buffers& message);
  void on(const Snapshot& message);
  template <typename Other>
  void on(const Other&);

  bool load_state(const ConfigureWorker& message);
  void load_from(const SyncGroup& group);
  void settle_buffers(const ConfigureWorker& message);
  std::vector<float> buffers() const;
  void say_room();
  void say_stuck();

  Parts parts_;
  Surroundings surroundings_;
  BatchAssembler training_assembler_;
  BatchAssembler train_evaluator_;
  BatchAssembler test_evaluator_;
  BatchLoader loader_;
  HalfBatchProbe probe_;
  std::unique_ptr<Synchroniser> synchroniser_;  // from the first membership on
  std::optional<WorkerLoop> loop_;              // of the latest membership that was joined
  bool trains_ = false;                         // it is in that membership
  bool has_weights_ = false;
  // An iteration was begun and not finished: whether the others have finished it is not known here.
  bool unfinished_ = false;
  std::vector<float> buffers_before_;  // that iteration
  const std::vector<float> initial_buffers_;
};

}  // namespace scavenger
