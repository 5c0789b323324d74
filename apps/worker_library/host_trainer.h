// The trainer whose model belongs to the host program: it passes batches, weights and gradients on
// by the C interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/worker_library/scavenger_worker.h"
#include "ps/collective/stepped_replica.h"
#include "runtime/checkpoint/carried_tensor.h"
#include "runtime/config/job_config.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/in_parallel.h"
#include "runtime/training/trainer.h"
#include "runtime/training/worker_iteration.h"

namespace scavenger {

// What the host is told of the job before it makes its model.
struct HostJob {
  std::string config;  // JSON
  DataShape data;
  std::uint64_t train_samples = 0;
  std::uint32_t index = 0;
  std::uint32_t threads = 1;
};

// It has more than 25 methods, since it offers each function of the host. Thread: as Trainer.
// Errors of the host are ConfigError if it says that the input is bad, and JobError otherwise.
class HostTrainer final : public Trainer {
 public:
  // Has the host make its model. `host` is copied.
  HostTrainer(const scavenger_worker_host& host, const HostJob& job);

  const TensorLayout& parameters() const override { return parameters_; }
  const TensorLayout& buffers() const override { return buffers_; }
  void use_weights(std::span<float> weights) override;
  void use_gradients(std::span<float> gradients) override;
  void release_vectors() override;
  void write_initial_weights() override;
  void read_buffers(std::span<float> destination) const override;
  void write_buffers(std::span<const float> source) override;
  TrainingStep forward_backward(const Batch& batch, std::uint64_t random_key,
                                const GradientReady& ready) override;
  EvaluationSums evaluate(const Batch& batch) override;
  void expect(const Batch& batch) override;
  void use_waiting_time(const std::function<bool()>& work) override { waiting_time_ = work; }

  void use_threads(std::uint32_t threads);
  // Of the host's computing threads; empty if it has no such function. Lives as long as this.
  InParallel in_parallel() const;
  void begin_iteration(const WorkerIteration& begun) { begun_ = begun; }
  // The memory of weights and gradients goes after this. `next`: see Worker::run().
  void end(const std::optional<WorkerIteration>& next);
  bool can_step() const { return host_.step != nullptr; }
  void step(const ps::WholeStep& step);
  bool wants_announcements() const { return host_.expect != nullptr; }
  std::uint32_t batches_ahead() const { return batches_ahead_; }
  const std::string& place() const { return place_; }

  // From the host's forward_backward().
  void gradient_ready(std::uint32_t parameter);
  bool work_ahead();
  std::span<const std::uint64_t> parameter_offsets() const { return offsets_; }

 private:
  // The host's memory of a buffer.
  struct HostBuffer {
    CarriedTensor carries;
    std::span<std::byte> bytes;
  };

  void adopt_parameters(const scavenger_model& model);
  void adopt_buffers(const scavenger_model& model);
  void tell(std::size_t parameter);
  std::uint64_t end_of(std::size_t parameter) const;

  const scavenger_worker_host host_;
  TensorLayout parameters_;
  TensorLayout buffers_;
  std::vector<HostBuffer> host_buffers_;  // in the order of buffers_
  std::vector<std::uint64_t> offsets_;    // of parameters, in floats
  std::uint32_t batches_ahead_ = 2;
  std::string place_ = "host program's device";
  std::uint32_t threads_;
  std::span<float> gradients_;
  WorkerIteration begun_;
  std::function<bool()> waiting_time_;
  // Within forward_backward():
  const GradientReady* ready_ = nullptr;
  std::vector<bool> told_;      // by parameter
  std::exception_ptr failure_;  // of what the host called, which may not pass through it
};

// Keeps what the host says of its next error (scavenger_worker_explain), by thread.
void explain_host_error(std::string what, std::string where, std::string remedy);
// Keeps the traceback that belongs to it, and gives it back once.
void keep_host_traceback(std::string traceback);
std::string take_host_traceback();

}  // namespace scavenger
