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
#include <utility>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Writes a tensor's initial values, row-major. The stream belongs to this tensor alone.
using InitialValues = std::function<void(std::span<float> values, RandomStream& stream)>;

// Handles of the tensor now lead to one on that device.
void move_tensor(const at::Tensor& tensor, at::Device device);

struct NamedTensor {
  std::string name;  // as PyTorch names it: "layers.0.weight"
  at::Tensor tensor;
  InitialValues initial_values;
  std::uint64_t place = 0;  // among the model's parameters, or buffers: names its random stream
};

// Where a layer's own backward may write its parameter's gradient, in place of handing a tensor to
// autograd from which it is copied. Filled in by the gradient collector.
struct GradientSlot {
  at::Tensor destination;         // of the parameter's shape, in the flat vector
  std::function<void()> written;  // to be called when the gradient is complete there
  int uses = 0;                   // by such layers in this forward pass, which count it
  bool adds = false;              // to what earlier passes of this iteration have written
};

struct Parameter : NamedTensor {
  std::shared_ptr<GradientSlot> slot;
};

// A batch as tensors.
struct ModelInput {
  at::Tensor samples;  // {b, sample shape...}; tokens: {b, length}, shorter ones end in padding
  // Of sequence-to-sequence models: {b, length}; each token is predicted from those before it.
  at::Tensor targets;
  // Of models of tokens: the places, in all of b x positions, where something is to be predicted.
  at::Tensor predicted;
};

// Numbers that a model answers for one sample, or for each token: logits of classes, or values.
std::int64_t output_count(const DataShape& data);

using TokenSequence = std::vector<std::int64_t>;

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

  // Logits {b, classes}, or values {b, target shape...}. Models of tokens: logits of all positions,
  // {b, positions, classes}, or only of input.predicted, {n, classes}.
  virtual at::Tensor forward(const ModelInput& input) = 0;

  // For LossType::kModel: the mean over the samples of what is minimised.
  virtual at::Tensor own_loss(const ModelInput& input, const at::Tensor& targets);

  // Sequence-to-sequence models: what they make of each sample, without begin and end tokens.
  // `beam_width` candidates are kept; 1: greedy.
  virtual std::vector<TokenSequence> write_sequences(const at::Tensor& samples,
                                                     std::int64_t beam_width);

  // Whether forward() draws from LibTorch's generator when training (dropout in a user's model).
  virtual bool draws_random_numbers() const { return false; }

  // The user's file that it comes from, for errors; empty for this program's own models.
  virtual std::string file() const { return {}; }

  // What the random numbers of each sample of the next forward pass follow from.
  void use_keys(std::vector<std::uint64_t> keys) { keys_ = std::move(keys); }
  std::span<const std::uint64_t> keys() const { return keys_; }

  void for_each_tensor(const std::function<void(NamedTensor&)>& visit);
  // These parameters keep their initial values: they are no parameters any more, get no gradient
  // and are in no flat vector. Returns them. For before training.
  std::vector<NamedTensor> freeze(const std::function<bool(const std::string& name)>& is_frozen);
  // All that forward() computes with, frozen parameters included. For before training.
  virtual void move_to(at::Device device);

  // Training (dropout, batch statistics) or evaluation.
  bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }

  // For the layers that a model is made of.
  Parameter add_parameter(std::string name, const std::vector<std::int64_t>& shape,
                          InitialValues initial_values);
  // The same for a tensor that is there already.
  Parameter add_parameter(std::string name, at::Tensor tensor, InitialValues initial_values);
  at::Tensor add_buffer(std::string name, const std::vector<std::int64_t>& shape,
                        InitialValues initial_values);
  // The how manieth layer this is that needs random numbers.
  std::uint32_t add_random_place() { return random_places_++; }

 private:
  std::vector<Parameter> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<NamedTensor> frozen_;
  std::vector<std::uint64_t> keys_;
  std::uint32_t random_places_ = 0;
  bool training_ = true;
};

}  // namespace scavenger
