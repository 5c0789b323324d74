// Models that are not made of this folder's layers: a user's. Their tensors are found in them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/torch/model.h"

namespace scavenger {

// LibTorch's messages are pages long; the cause is one of their lines.
std::string cause_of(const std::exception& error);

class ForeignModel : public Model {
 public:
  at::Tensor forward(const ModelInput& input) final;
  at::Tensor own_loss(const ModelInput& input, const at::Tensor& targets) final;
  // A user's layers may draw from LibTorch's generator.
  bool draws_random_numbers() const final { return true; }
  void move_to(at::Device device) final;
  std::string file() const final { return where_; }

 protected:
  using Named = std::vector<std::pair<std::string, at::Tensor>>;

  // `where` is the file, for errors.
  explicit ForeignModel(std::string where) : where_(std::move(where)) {}

  // Takes the tensor in, with its present values as initial values. Returns the one to be used in
  // its place, where that is another: one that shares its memory and was taken in before, as tied
  // weights do. One that is not to be trained (requires_grad is false) stays as the file has it.
  at::Tensor adopt_parameter(const std::string& name, const at::Tensor& tensor);
  // All of current_buffers(). What is not float32 is carried bit by bit, in numbers of 16 bits
  // each, under its name and type: "bn1.num_batches_tracked:int64".
  void adopt_buffers();
  // Throws ConfigError where there is nothing to train, or where the model does not take such data.
  void try_out(const DataShape& data, bool has_own_loss);

  virtual at::Tensor run_forward(const ModelInput& input) = 0;
  virtual at::Tensor run_loss(const ModelInput& input, const at::Tensor& targets) = 0;
  virtual void run_set_training(bool training) = 0;
  // Always the same names, in the same order; a module may put new tensors in their place.
  virtual Named current_buffers() = 0;

  // Runs a user's code; what it throws becomes a ConfigError that says what failed.
  at::Tensor guarded(const char* doing, const std::function<at::Tensor()>& code) const;

 private:
  using Memory = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>>;

  void require_outputs(const at::Tensor& outputs, const DataShape& data) const;
  // Throws ConfigError where a buffer is no longer what was taken in.
  void require_same_buffers(const Named& own) const;
  at::Tensor run(const char* doing, const std::function<at::Tensor()>& code);

  std::string where_;
  std::map<Memory, at::Tensor> seen_;
  bool is_training_ = true;
};

}  // namespace scavenger
