// The process of a worker, whatever computes its gradients: scavenger-worker does it with LibTorch,
// the worker library with its host program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ps/collective/stepped_replica.h"
#include "runtime/base/clock.h"
#include "runtime/config/job_config.h"
#include "runtime/data/data_set.h"
#include "runtime/net/io_thread.h"
#include "runtime/process/launch_ticket.h"
#include "runtime/protocol/control_message.h"
#include "runtime/training/collective.h"
#include "runtime/training/in_parallel.h"
#include "runtime/training/replica.h"
#include "runtime/training/synchroniser.h"
#include "runtime/training/trainer.h"
#include "runtime/training/worker_iteration.h"
#include "runtime/worker/control_link.h"

namespace scavenger {

// What an all-reduce synchroniser is made from. The references outlive it.
struct AllReduceParts {
  const JobConfig& config;
  const LaunchTicket& ticket;
  const Trainer& trainer;
  std::uint64_t train_samples;
  IoThread& io;
  ControlLink& link;
  const Clock& clock;
};

// What workers of a host add up with, and where.
struct HostSum {
  std::unique_ptr<Replica> vectors;
  std::unique_ptr<Collective> collective;
};

// What computes the gradients of this process, and how.
struct Computation {
  std::unique_ptr<Trainer> trainer;
  std::function<void(std::uint32_t threads)> use_threads;
  std::string place = "CPU";  // for the log
  InParallel in_parallel;     // on the threads that compute, which are awake; it may be empty
  // Both may be empty. The first tells which iteration is begun; the second, that the controller
  // has ended the worker, with what Worker::run() returned. After it, the memory of the weights is
  // gone.
  std::function<void(const WorkerIteration& begun)> begins_iteration;
  std::function<void(const std::optional<WorkerIteration>& next)> at_end;
  // Announces a batch to the trainer some iterations before it is trained on; called on the
  // loader's thread. It may be empty.
  std::function<void(const Batch& batch)> expect;
  std::size_t batches_ahead = 2;  // that are assembled before their use
  bool prepares_images = false;   // the trainer crops, mirrors and normalises raw ones
  // All-reduce by LibTorch, and sums of a host, only: the port where the workers meet. Of the
  // former, what makes their synchroniser.
  std::uint16_t meeting_port = 0;
  std::function<std::unique_ptr<Synchroniser>(const AllReduceParts&)> make_all_reduce;
  // If workers of a host add up by a collective: what they do it with.
  std::function<HostSum(const AllReduceParts&)> make_host_sum;
  // SyncStrategy::kAllReduce only: makes a step of the whole model.
  ps::StepWhole step;
};

// What the computation is made for.
struct ComputationSite {
  const LaunchTicket& ticket;
  const JobConfig& config;
  const DataSet& train;
  // Tells the controller what the user's script has logged. Thread: any, until the worker ends.
  std::function<void(ScriptValues values)> log;
  // Tells whoever runs the job a sentence, also before the worker has joined. Thread: any, until
  // the worker ends.
  std::function<void(std::string sentence)> tell;
};
using MakeComputation = std::function<Computation(const ComputationSite&)>;

// Connects to the controller, opens the data, makes the computation on this thread, and works on it
// until the controller ends it. Returns the exit code; the controller has been told of any error,
// with the traceback that `take_traceback` returns if it was an exception in the user's code.
int run_worker_process(const LaunchTicket& ticket, const MakeComputation& make,
                       const std::function<std::string()>& take_traceback = {});

}  // namespace scavenger
