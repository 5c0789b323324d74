// For users who write a model in C++: the only header that a plug-in needs, apart from LibTorch's.
//
//   struct Net : torch::nn::Module {
//     explicit Net(const scavenger::PluginData& data);
//     torch::Tensor forward(const torch::Tensor& samples);
//   };
//   SCAVENGER_MODEL_PLUGIN(Net)
//
// Compiled into a shared library, the model is trained by `"model": {"type": "plugin", "path":
// "libnet.so"}`. test/plugin contains a complete example with its CMake file. The tensors are
// named_parameters() and named_buffers() of the module. A module may also have
//
//     torch::Tensor loss(const torch::Tensor& samples, const torch::Tensor& targets);
//
// which returns the mean loss over the samples, for `"loss": {"type": "model"}`; and, for pairs of
// sequences, forward(samples, targets without their last word).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace scavenger {

// Increased whenever this file changes.
#define SCAVENGER_PLUGIN_INTERFACE "1"
#define SCAVENGER_PLUGIN_TEXT_OF(x) #x
#define SCAVENGER_PLUGIN_TEXT(x) SCAVENGER_PLUGIN_TEXT_OF(x)
// Must be equal on both sides: the version of this interface, LibTorch, and the compiler's ABI.
#define SCAVENGER_PLUGIN_VERSION                                                   \
  "interface " SCAVENGER_PLUGIN_INTERFACE ", LibTorch " TORCH_VERSION              \
  ", GCC ABI " SCAVENGER_PLUGIN_TEXT(__GXX_ABI_VERSION) "-" SCAVENGER_PLUGIN_TEXT( \
      _GLIBCXX_USE_CXX11_ABI)

// Describes the data to a model.
struct PluginData {
  std::vector<std::int64_t> sample_shape;  // {channels, height, width} or {features}; {length}
  std::int64_t vocabulary = 0;             // number of tokens; 0: samples are floats
  std::int64_t outputs = 0;                // number of classes, or of values of a target
};

class ModelPlugin {
 public:
  using Named = std::vector<std::pair<std::string, at::Tensor>>;

  virtual ~ModelPlugin() = default;
  virtual Named parameters() = 0;
  virtual Named buffers() = 0;
  virtual void set_training(bool training) = 0;
  // `targets` is undefined except for pairs of sequences.
  virtual at::Tensor forward(const at::Tensor& samples, const at::Tensor& targets) = 0;
  virtual bool has_loss() const = 0;
  virtual at::Tensor loss(const at::Tensor& samples, const at::Tensor& targets) = 0;
};

// Makes a plug-in of any torch::nn::Module.
template <typename Module>
class ModulePlugin final : public ModelPlugin {
 public:
  explicit ModulePlugin(const PluginData& data) : module_(std::make_shared<Module>(data)) {}

  Named parameters() override { return list(module_->named_parameters()); }
  Named buffers() override { return list(module_->named_buffers()); }
  void set_training(bool training) override { module_->train(training); }
  at::Tensor forward(const at::Tensor& samples, const at::Tensor& targets) override {
    if constexpr (requires { module_->forward(samples, targets); })
      return module_->forward(samples, targets);
    else
      return module_->forward(samples);
  }
  bool has_loss() const override {
    return requires(Module& module, const at::Tensor& x) { module.loss(x, x); };
  }
  at::Tensor loss(const at::Tensor& samples, const at::Tensor& targets) override {
    if constexpr (requires { module_->loss(samples, targets); })
      return module_->loss(samples, targets);
    else
      return {};
  }

 private:
  template <typename Dictionary>
  static Named list(const Dictionary& tensors) {
    Named named;
    for (const auto& item : tensors) named.emplace_back(item.key(), item.value());
    return named;
  }

  std::shared_ptr<Module> module_;
};

}  // namespace scavenger

// Defines the two functions that the library must export. The version is checked before the second
// function is called.
#define SCAVENGER_MODEL_PLUGIN(Module)                                                            \
  extern "C" __attribute__((visibility("default"))) const char* scavenger_plugin_version() {      \
    return SCAVENGER_PLUGIN_VERSION;                                                              \
  }                                                                                               \
  extern "C" __attribute__((visibility("default"))) scavenger::ModelPlugin* scavenger_make_model( \
      const scavenger::PluginData& data) {                                                        \
    return new scavenger::ModulePlugin<Module>(data);                                             \
  }
