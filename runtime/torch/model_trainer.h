// Trains any Model: parameters and gradients as views of flat vectors, one forward and backward
// pass per batch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/torch/device_mirror.h"
#include "runtime/torch/gradient_collector.h"
#include "runtime/torch/model.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// Where the model's tensors are, and whether weights and gradients are given in memory of the host
// all the same.
struct ModelPlacement {
  at::Device device = at::kCPU;
  bool is_mirrored = false;
};

// The loss is the cross entropy of the model's logits, as a mean over the batch.
class ModelTrainer final : public Trainer {
 public:
  ModelTrainer(std::unique_ptr<Model> model, std::vector<std::int64_t> sample_shape,
               std::uint64_t seed, const ModelPlacement& placement = {});

  const TensorLayout& parameters() const override { return parameters_; }
  const TensorLayout& buffers() const override { return buffers_; }
  void use_weights(std::span<float> weights) override;
  void use_gradients(std::span<float> gradients) override;
  void write_initial_weights() override;
  void read_buffers(std::span<float> destination) const override;
  void write_buffers(std::span<const float> source) override;
  TrainingStep forward_backward(const Batch& batch, std::uint64_t random_key,
                                const GradientReady& ready) override;
  EvaluationSums evaluate(const Batch& batch) override;

 private:
  at::Tensor features_of(const Batch& batch) const;
  at::Tensor labels_of(const Batch& batch) const;
  void view_weights(float* flat);
  void await_device() const;

  std::unique_ptr<Model> model_;
  std::vector<std::int64_t> sample_shape_;
  std::uint64_t seed_;
  TensorLayout parameters_;
  TensorLayout buffers_;
  ModelPlacement placement_;
  std::optional<DeviceMirror> mirror_;
  GradientCollector collector_;  // after model_, whose hooks point to it
  std::span<float> weights_;     // in use: of the mirror's, where there is one, the host's
  std::span<float> gradients_;
  float* viewed_ = nullptr;  // the flat vector that the model's parameters are views of
  // Its views, and those of vectors used before: a synchroniser takes turns between two.
  std::map<float*, std::vector<at::Tensor>> views_;
  SteadyClock clock_;
};

}  // namespace scavenger
