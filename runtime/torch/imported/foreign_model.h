// Users' models, which do not consist of this project's layers. Their tensors are taken from the
// modules.
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

#include "runtime/torch/layers/model.h"

namespace scavenger {

// Returns the line of LibTorch's long message that names the cause.
std::string cause_of(const std::exception& error);

class ForeignModel : public Model {
 public:
  at::Tensor forward(const ModelInput& input) final;
  at::Tensor own_loss(const ModelInput& input, const at::Tensor& targets) final;
  // True, since a user's layers may draw from LibTorch's generator.
  bool draws_random_numbers() const final { return true; }
  void move_to(at::Device device) final;
  std::string file() const final { return where_; }

 protected:
  using Named = std::vector<std::pair<std::string, at::Tensor>>;

  // `where` names the file in errors.
  explicit ForeignModel(std::string where) : where_(std::move(where)) {}

  // Adds the tensor to the parameters, with its present values as initial values. Returns the
  // tensor to use instead of it: another one if that shares its memory and was added before, as
  // with tied weights. A tensor that is not trained (requires_grad is false) stays as in the file.
  at::Tensor adopt_parameter(const std::string& name, const at::Tensor& tensor);
  // Adds all of current_buffers(). Tensors of other types than float32 are carried exactly, as
  // numbers of 16 bits, under their name and type (runtime/checkpoint/carried_tensor.h).
  void adopt_buffers();
  // Throws ConfigError if there is nothing to train, or if the model does not accept such data.
  void try_out(const DataShape& data, bool has_own_loss);

  virtual at::Tensor run_forward(const ModelInput& input) = 0;
  virtual at::Tensor run_loss(const ModelInput& input, const at::Tensor& targets) = 0;
  virtual void run_set_training(bool training) = 0;
  // Returns always the same names in the same order; a module may replace the tensors.
  virtual Named current_buffers() = 0;

  // Runs a user's code. Converts its exceptions to ConfigError, which says what failed.
  at::Tensor guarded(const char* doing, const std::function<at::Tensor()>& code) const;

 private:
  using Memory = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>>;

  void require_outputs(const at::Tensor& outputs, const DataShape& data) const;
  // Throws ConfigError if a buffer no longer has its original form.
  void require_same_buffers(const Named& own) const;
  at::Tensor run(const char* doing, const std::function<at::Tensor()>& code);

  std::string where_;
  std::map<Memory, at::Tensor> seen_;
  bool is_training_ = true;
};

}  // namespace scavenger
