// Trains any Model. Its parameters and gradients are views of flat vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/config/job_config.h"
#include "runtime/torch/device/device_graph.h"
#include "runtime/torch/device/device_mirror.h"
#include "runtime/torch/device/device_runtime.h"
#include "runtime/torch/layers/model.h"
#include "runtime/torch/trainer/batch_stage.h"
#include "runtime/torch/trainer/batch_tensors.h"
#include "runtime/torch/trainer/flat_buffers.h"
#include "runtime/torch/trainer/gradient_collector.h"
#include "runtime/torch/trainer/graphed_pass.h"
#include "runtime/torch/trainer/loss_scale.h"
#include "runtime/torch/trainer/loss_sum.h"
#include "runtime/torch/trainer/objective.h"
#include "runtime/torch/trainer/pass_timer.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/flat_range.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// The device of the model's tensors, and whether weights and gradients are given in host memory
// although the model is on another device.
struct ModelPlacement {
  at::Device device = at::kCPU;
  bool is_mirrored = false;
  DeviceMirror::Transport transport = DeviceMirror::Transport::kFloat32;  // of the mirror
};

struct TrainerOptions {
  DataShape data;
  LossConfig loss;
  std::uint64_t seed = 1;        // determines initial values and dropout
  std::uint32_t beam_width = 0;  // evaluations also write sequences, for BLEU; 0: they do not
  ComputeConfig compute;
  ModelPlacement placement;
  std::function<void(const std::string&)> say = [](const std::string&) {};   // for the log
  std::function<void(const std::string&)> tell = [](const std::string&) {};  // for the user
  // Returns the memory that is available now.
  std::function<std::uint64_t()> available_bytes = [] { return available_memory_bytes(); };
  std::optional<HostPinning> pinning = {};     // in place of the device's own
  std::optional<MakeDeviceGraph> graphs = {};  // likewise
};

// Returns what a sample takes on a device, and how many have room, from its memory before and after
// a pass of so many samples.
SampleMemory sample_memory_on_device(const DeviceMemory& before, const DeviceMemory& after,
                                     std::uint64_t samples);

// It has more than 25 methods: those of its port, and the steps of a pass, from which the room in
// memory is learned; and more than 20 fields, since a pass may be mirrored, staged, scaled, and
// replayed.
class ModelTrainer final : public Trainer {
 public:
  ModelTrainer(std::unique_ptr<Model> model, TrainerOptions options);

  // Prepares the device for the first pass, by a pass that leaves no trace. Call it before any
  // vectors are in use.
  void warm_up();

  const TensorLayout& parameters() const override { return parameters_; }
  const TensorLayout& buffers() const override { return buffers_; }
  void use_weights(std::span<float> weights) override;
  void use_gradients(std::span<float> gradients) override;
  bool fetches_weights() const override { return mirror_.has_value(); }
  void fetch_weights(std::span<float> next_weights, std::uint64_t first,
                     std::uint64_t last) override;
  void use_waiting_time(const std::function<bool()>& work) override { waiting_time_ = work; }
  bool vectors_are_on_host() const override;
  void settle_vectors() override;
  void release_vectors() override;
  void write_initial_weights() override;
  void read_buffers(std::span<float> destination) const override;
  void write_buffers(std::span<const float> source) override;
  void keep_buffers() override { flat_buffers_.keep(); }
  void read_kept_buffers(std::span<float> destination) const override {
    flat_buffers_.read_kept(destination);
  }
  void expect(const Batch& batch) override;
  TrainingStep forward_backward(const Batch& batch, std::uint64_t random_key,
                                const GradientReady& ready) override;
  EvaluationSums evaluate(const Batch& batch) override;
  std::vector<float> answer(const Batch& batch) override;
  SampleMemory sample_memory() const override { return memory_; }
  std::optional<DeviceUse> device_use() const override;

 private:
  TrainingStep train_on(const Batch& batch, std::uint64_t random_key, const GradientReady& ready);
  EvaluationSums evaluate_on(const Batch& batch);
  void view_weights(float* flat);
  std::optional<TrainingStep> try_forward_backward(const Batch& batch, const GradientReady& ready);
  void run_passes(const Batch& batch, LossSum& loss, PassTimer& timer, const GradientReady& report);
  void run_pass(const Batch& batch, std::uint32_t first, std::uint32_t last,
                const BatchTensors& tensors, LossSum& loss, PassTimer& timer);
  bool replay_pass(const Batch& batch, const BatchTensors& tensors, LossSum& loss, PassTimer& timer,
                   const GradientReady& report);
  void settle_graphs();
  PassTimer::Seconds divided(PassTimer::Seconds seconds);
  std::uint64_t passes_of(std::uint32_t batch_size) const;
  std::uint64_t largest_pass(std::uint32_t batch_size) const;
  bool unscale_gradients();
  void measure_samples(const Batch& batch);
  std::int64_t most_bytes_of_pass(const Batch& batch, std::uint32_t samples);
  void leave_room(std::uint32_t batch_size);
  void halve_micro_batch(std::uint32_t batch_size);
  // Returns the contribution of so many samples to the loss of a batch.
  at::Tensor loss_of(const BatchTensors& tensors, std::uint32_t samples, std::uint32_t batch_size,
                     double loss_terms);
  BatchTensors tensors_for(const Batch& batch, std::uint32_t first, std::uint32_t last);
  void use_keys(const Batch& batch, std::uint32_t first, std::uint32_t last);
  at::Tensor predictions_for(const BatchTensors& tensors);
  void add_bleu(const BatchTensors& tensors, EvaluationSums& sums);

  std::unique_ptr<Model> model_;
  TrainerOptions options_;
  Objective objective_;
  TensorLayout parameters_;
  TensorLayout buffers_;
  FlatBuffers flat_buffers_;
  std::optional<DeviceMirror> mirror_;
  std::function<bool()> waiting_time_;  // what use_waiting_time() was given
  std::optional<BatchStage> stage_;     // on a device
  LossScale loss_scale_;                // of float16
  GradientCollector collector_;         // after model_, whose hooks point to it
  std::optional<GraphedPass> graphed_;
  bool is_replayed_ = false;         // the last pass
  double forward_part_ = 1.0 / 3.0;  // of the time of a pass, in the last one without a graph
  std::uint32_t micro_batch_;        // the most samples of one pass; 0: no limit
  SampleMemory memory_;
  std::uint32_t largest_batch_ = 0;  // largest batch for which there was enough memory
  std::span<float> weights_;         // weights in use; in host memory if there is a mirror
  std::span<float> gradients_;
  float* viewed_ = nullptr;  // the flat vector of which the model's parameters are views
  // The views of each flat vector used so far, since a synchroniser alternates between two.
  std::map<float*, std::vector<at::Tensor>> views_;
  SteadyClock clock_;
};

}  // namespace scavenger
