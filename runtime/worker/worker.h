// One worker, from the time when its model is built until Stop. It carries out the controller's
// commands, and otherwise trains as far as its grant permits. It takes part in one membership after
// another; docs/design/synchronisation.md describes how one ends.
#pragma once

#include <cstddef>
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
  // Functions that connect the worker to its process.
  struct Hooks {
    std::function<std::unique_ptr<Synchroniser>(const SyncGroup&)> make_synchroniser;
    std::function<void(std::uint32_t threads)> use_threads;
    std::function<void(ControlMessage)> post;
    std::function<void(const WorkerIteration& begun)> begins_iteration;
    // Gets each batch when it was assembled, on the loader's thread, some iterations before the
    // trainer gets it; it may be empty. Batches may come that are never trained on.
    std::function<void(const Batch& batch)> expect = {};
    std::size_t batches_ahead = 2;  // that are assembled before their use
    bool prepares_images = false;   // the trainer does, of raw ones
  };

  Worker(Parts parts, Hooks hooks);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs until Stop. If the worker took part in the training until then, returns the iteration that
  // would have come next, and the trainer uses the last weights, which stay until the destructor.
  // Throws Error if the controller is lost, the loss is not finite, or a message is not for
  // workers.
  std::optional<WorkerIteration> run();

 private:
  void run_iteration();
  void obey(const ControlMessage& command);
  void on_configure_worker(const ConfigureWorker& message);
  void on_halt(const Halt&);
  void on_evaluate(const Evaluate& message);
  void on_send_buffers(const SendBuffers&);
  void on_buffers(const Buffers& message);
  void on_snapshot(const Snapshot& message);

  bool load_state(const ConfigureWorker& message);
  void load_from(const SyncGroup& group);
  void settle_buffers(const ConfigureWorker& message);
  std::vector<float> buffers() const;
  std::vector<float> buffers_before() const;
  void say_room();
  void say_device_use();
  void say_stuck();

  Parts parts_;
  Hooks hooks_;
  BatchAssembler training_assembler_;
  BatchAssembler train_evaluator_;
  BatchAssembler test_evaluator_;
  BatchLoader loader_;
  HalfBatchProbe probe_;
  std::unique_ptr<Synchroniser> synchroniser_;  // set from the first membership on
  std::optional<WorkerLoop> loop_;              // of the last membership that was joined
  bool trains_ = false;                         // the worker takes part in that membership
  bool has_weights_ = false;
  // An iteration was begun and not finished; this worker does not know whether the others have
  // finished it. The trainer keeps the buffers of before.
  bool unfinished_ = false;
  std::uint64_t iterations_here_ = 0;  // that this process has done
  DeviceUse told_use_;
  const std::vector<float> initial_buffers_;
};

}  // namespace scavenger
