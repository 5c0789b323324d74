// What the trainer drives: a network's tensors by name, and its forward pass.
//
// Built on ATen operators alone: torch::nn would add 20 s to each file's compilation, and brings
// initial weights that depend on its generator.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/random.h"

namespace scavenger {

// Writes a tensor's initial values, row-major. The stream belongs to this tensor alone.
using InitialValues = std::function<void(std::span<float> values, RandomStream& stream)>;

struct NamedTensor {
  std::string name;  // as PyTorch names it: "layers.0.weight"
  at::Tensor tensor;
  InitialValues initial_values;
};

// Where a layer's own backward may write its parameter's gradient, in place of handing a tensor to
// autograd from which it is copied. Filled in by the gradient collector.
struct GradientSlot {
  at::Tensor destination;         // of the parameter's shape, in the flat vector
  std::function<void()> written;  // to be called when the gradient is complete there
  int uses = 0;                   // by such layers in this iteration's forward pass, which count it
};

struct Parameter : NamedTensor {
  std::shared_ptr<GradientSlot> slot;
};

// Thread: one thread. The tensors are handles: the trainer moves what is behind them to other
// memory.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // In the order in which they were added, as PyTorch's named_parameters().
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // State that gradients do not train: BatchNorm's running statistics.
  const std::vector<NamedTensor>& buffers() const { return buffers_; }

  // samples {b, sample shape...} -> logits {b, classes}.
  virtual at::Tensor forward(const at::Tensor& samples) = 0;

  // Whether forward() draws from LibTorch's generator when training (dropout).
  virtual bool draws_random_numbers() const { return false; }

  // Training (dropout, batch statistics) or evaluation.
  bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }

  // For the layers that a model is made of.
  Parameter add_parameter(std::string name, const std::vector<std::int64_t>& shape,
                          InitialValues initial_values);
  at::Tensor add_buffer(std::string name, const std::vector<std::int64_t>& shape,
                        InitialValues initial_values);

 private:
  std::vector<Parameter> parameters_;
  std::vector<NamedTensor> buffers_;
  bool training_ = true;
};

}  // namespace scavenger
