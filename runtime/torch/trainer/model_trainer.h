// Trains any Model. Its parameters and gradients are views of flat vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/config/job_config.h"
#include "runtime/torch/layers/model.h"
#include "runtime/torch/trainer/batch_tensors.h"
#include "runtime/torch/trainer/device_mirror.h"
#include "runtime/torch/trainer/gradient_collector.h"
#include "runtime/torch/trainer/objective.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// The device of the model's tensors, and whether weights and gradients are given in host memory
// although the model is on another device.
struct ModelPlacement {
  at::Device device = at::kCPU;
  bool is_mirrored = false;
};

struct TrainerOptions {
  DataShape data;
  LossConfig loss;
  std::uint64_t seed = 1;        // determines initial values and dropout
  std::uint32_t beam_width = 0;  // evaluations also write sequences, for BLEU; 0: they do not
  ComputeConfig compute;
  ModelPlacement placement;
  // Returns the memory that is available now.
  std::function<std::uint64_t()> available_bytes = [] { return available_memory_bytes(); };
};

class ModelTrainer final : public Trainer {
 public:
  ModelTrainer(std::unique_ptr<Model> model, TrainerOptions options);

  const TensorLayout& parameters() const override { return parameters_; }
  const TensorLayout& buffers() const override { return buffers_; }
  void use_weights(std::span<float> weights) override;
  void use_gradients(std::span<float> gradients) override;
  bool vectors_are_on_host() const override;
  void write_initial_weights() override;
  void read_buffers(std::span<float> destination) const override;
  void write_buffers(std::span<const float> source) override;
  TrainingStep forward_backward(const Batch& batch, std::uint64_t random_key,
                                const GradientReady& ready) override;
  EvaluationSums evaluate(const Batch& batch) override;
  std::vector<float> answer(const Batch& batch) override;
  SampleMemory sample_memory() const override { return memory_; }

 private:
  TrainingStep train_on(const Batch& batch, std::uint64_t random_key, const GradientReady& ready);
  EvaluationSums evaluate_on(const Batch& batch);
  void view_weights(float* flat);
  // Returns nothing if it ran out of memory before any gradient was reported.
  std::optional<TrainingStep> try_forward_backward(const Batch& batch, const GradientReady& ready);
  void await_device() const;
  void measure_samples(const Batch& batch);
  std::int64_t most_bytes_of_pass(const Batch& batch, std::uint32_t samples);
  void leave_room(std::uint32_t batch_size);
  void halve_micro_batch(std::uint32_t batch_size);
  // Returns the contribution of rows [first, last) to the batch's loss.
  at::Tensor loss_of(const Batch& batch, std::uint32_t first, std::uint32_t last);
  void use_keys(const Batch& batch, std::uint32_t first, std::uint32_t last);
  at::Tensor predictions_for(const BatchTensors& tensors);
  void add_bleu(const BatchTensors& tensors, EvaluationSums& sums);

  std::unique_ptr<Model> model_;
  TrainerOptions options_;
  Objective objective_;
  TensorLayout parameters_;
  TensorLayout buffers_;
  std::optional<DeviceMirror> mirror_;
  GradientCollector collector_;  // after model_, whose hooks point to it
  std::uint32_t micro_batch_;    // the most samples of one pass; 0: no limit
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
