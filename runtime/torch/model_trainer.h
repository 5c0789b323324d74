// Trains any Model: parameters and gradients as views of flat vectors, one forward and backward
// pass per batch.
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
#include "runtime/torch/batch_tensors.h"
#include "runtime/torch/device_mirror.h"
#include "runtime/torch/gradient_collector.h"
#include "runtime/torch/model.h"
#include "runtime/torch/objective.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// Where the model's tensors are, and whether weights and gradients are given in memory of the host
// all the same.
struct ModelPlacement {
  at::Device device = at::kCPU;
  bool is_mirrored = false;
};

struct TrainerOptions {
  DataShape data;
  LossConfig loss;
  std::uint64_t seed = 1;        // decides initial values and dropout
  std::uint32_t beam_width = 0;  // evaluations also write sequences, for BLEU; 0: they do not
  ComputeConfig compute;
  ModelPlacement placement;
  // Of memory: how much there is, now.
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
  // Without a value where memory did not suffice and nothing has been told of yet.
  std::optional<TrainingStep> try_forward_backward(const Batch& batch, const GradientReady& ready);
  void await_device() const;
  void measure_samples(const Batch& batch);
  std::int64_t most_bytes_of_pass(const Batch& batch, std::uint32_t samples);
  void leave_room(std::uint32_t batch_size);
  void halve_micro_batch(std::uint32_t batch_size);
  // Of rows [first, last): their part of the batch's loss.
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
  std::uint32_t largest_batch_ = 0;  // for which there was room
  std::span<float> weights_;         // in use: where there is a mirror, the host's
  std::span<float> gradients_;
  float* viewed_ = nullptr;  // the flat vector that the model's parameters are views of
  // Its views, and those of vectors used before: a synchroniser takes turns between two.
  std::map<float*, std::vector<at::Tensor>> views_;
  SteadyClock clock_;
};

}  // namespace scavenger
