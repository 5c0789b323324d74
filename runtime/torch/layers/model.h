// The interface of a network for the trainer: its tensors by name, and its forward pass.
//
// Built only on ATen operators: torch::nn would add 20 s to the compilation of each file, and its
// initial weights depend on its own generator.
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
#include "runtime/config/job_config.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Writes a tensor's initial values, row-major. The stream is used for this tensor only.
using InitialValues = std::function<void(std::span<float> values, RandomStream& stream)>;

// Moves the tensor behind all its handles to that device.
void move_tensor(const at::Tensor& tensor, at::Device device);

struct NamedTensor {
  std::string name;  // as PyTorch names it: "layers.0.weight"
  at::Tensor tensor;
  InitialValues initial_values;
  // Index among the model's parameters or buffers, which names its random stream.
  std::uint64_t place = 0;
};

// A place to which a layer's own backward pass may write its parameter's gradient, instead of
// returning a tensor to autograd. The gradient collector sets it.
struct GradientSlot {
  at::Tensor destination;         // part of the flat vector, with the parameter's shape
  std::function<void()> written;  // call it when the gradient is complete
  int uses = 0;                   // how many such layers use it in this forward pass; they count it
  bool adds = false;              // add to the gradient of this iteration's earlier passes
};

struct Parameter : NamedTensor {
  std::shared_ptr<GradientSlot> slot;
};

// The input of a model for one batch.
struct ModelInput {
  at::Tensor samples;  // {b, sample shape...}; tokens: {b, length}, shorter ones end in padding
  // For sequence-to-sequence models: {b, length}; each token is predicted from the previous ones.
  at::Tensor targets;
  // For models of tokens: indices, among all b x positions, of the predicted tokens.
  at::Tensor predicted;
};

// Returns the number of outputs for one sample or one token: logits of classes, or values.
std::int64_t output_count(const DataShape& data);

using TokenSequence = std::vector<std::int64_t>;

// Thread: one thread. The tensors are handles; the trainer moves their data to other memory.
// It has more than 25 methods: most are questions with an answer that few kinds of models override.
class Model {
 public:
  Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  virtual ~Model() = default;

  // In the order in which they were added, like PyTorch's named_parameters().
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // State that gradients do not train, such as BatchNorm's running statistics.
  const std::vector<NamedTensor>& buffers() const { return buffers_; }

  // Returns logits {b, classes}, or values {b, target shape...}. Models of tokens return logits of
  // all positions, {b, positions, classes}, or only of input.predicted, {n, classes}.
  virtual at::Tensor forward(const ModelInput& input) = 0;

  // For LossType::kModel: returns the mean loss over the samples.
  virtual at::Tensor own_loss(const ModelInput& input, const at::Tensor& targets);

  // For sequence-to-sequence models: returns the output sequence of each sample, without begin and
  // end tokens, by beam search with `beam_width` candidates; 1: greedy.
  virtual std::vector<TokenSequence> write_sequences(const at::Tensor& samples,
                                                     std::int64_t beam_width);

  // Returns whether forward() draws from LibTorch's generator in training (dropout in a user's
  // model).
  virtual bool draws_random_numbers() const { return false; }

  // Returns the user's file of the model, for errors; empty for built-in models.
  virtual std::string file() const { return {}; }

  // Sets the keys from which the random numbers of each sample of the next forward pass follow.
  void use_keys(std::vector<std::uint64_t> keys) {
    keys_ = std::move(keys);
    layer_keys_ = at::Tensor();
  }
  std::span<const std::uint64_t> keys() const { return keys_; }
  // What dropout layers make of the keys on a device, until the next use_keys().
  at::Tensor& layer_keys() const { return layer_keys_; }

  void for_each_tensor(const std::function<void(NamedTensor&)>& visit);
  // Removes these parameters from parameters(), so that they get no gradient, are in no flat vector
  // and keep their initial values. Returns them. Call it before training.
  std::vector<NamedTensor> freeze(const std::function<bool(const std::string& name)>& is_frozen);
  // Moves all tensors of forward() to `device`, including frozen parameters. Call it before
  // training.
  virtual void move_to(at::Device device);

  // Whether the model is in training mode (dropout, batch statistics) or in evaluation mode.
  bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }

  // The order of images in memory, for the convolutions of built-in models.
  ImageOrder image_order() const { return image_order_; }
  void set_image_order(ImageOrder order) { image_order_ = order; }

  // For the layers of the model.
  Parameter add_parameter(std::string name, const std::vector<std::int64_t>& shape,
                          InitialValues initial_values);
  // The same for an existing tensor.
  Parameter add_parameter(std::string name, at::Tensor tensor, InitialValues initial_values);
  at::Tensor add_buffer(std::string name, const std::vector<std::int64_t>& shape,
                        InitialValues initial_values);
  // Returns the index of this layer among those that draw random numbers.
  std::uint32_t add_random_place() { return random_places_++; }
  std::uint32_t random_places() const { return random_places_; }

 private:
  std::vector<Parameter> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<NamedTensor> frozen_;
  std::vector<std::uint64_t> keys_;
  mutable at::Tensor layer_keys_;
  std::uint32_t random_places_ = 0;
  ImageOrder image_order_ = ImageOrder::kAutomatic;
  bool training_ = true;
};

}  // namespace scavenger
