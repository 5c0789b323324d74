#include "runtime/torch/imported/plugin_model.h"

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/torch/imported/foreign_model.h"
#include "runtime/torch/model_plugin.h"

namespace scavenger {
namespace {

void* open_library(const std::filesystem::path& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw ConfigError({.what = std::string("cannot load the plug-in: ") + ::dlerror(),
                       .where = path.string(),
                       .remedy = "build it as a shared library, as test/plugin does"});
  return library;
}

template <typename Function>
Function* find_function(void* library, const char* name, const std::filesystem::path& path) {
  void* const address = ::dlsym(library, name);
  if (address == nullptr)
    throw ConfigError({.what = std::string("the library has no function ") + name,
                       .where = path.string(),
                       .remedy = "write SCAVENGER_MODEL_PLUGIN(YourModule) in one of its files"});
  return reinterpret_cast<Function*>(address);
}

void require_version(void* library, const std::filesystem::path& path) {
  const std::string built =
      find_function<const char*()>(library, "scavenger_plugin_version", path)();
  if (built == SCAVENGER_PLUGIN_VERSION) return;
  throw ConfigError({.what = "the plug-in was built against another version (" + built +
                             "; this program is " SCAVENGER_PLUGIN_VERSION ")",
                     .where = path.string(),
                     .remedy = "build it again with this Scavenger's model_plugin.h and LibTorch"});
}

class PluginModel final : public ForeignModel {
 public:
  PluginModel(const std::filesystem::path& path, const DataShape& data, bool has_own_loss)
      : ForeignModel(path.string()) {
    void* const library = open_library(path);
    require_version(library, path);
    auto* const make =
        find_function<ModelPlugin*(const PluginData&)>(library, "scavenger_make_model", path);
    const PluginData facts{data.sample_shape, data.vocabulary, output_count(data)};
    guarded("make the model", [&] {
      plugin_.reset(make(facts));
      return at::Tensor();
    });
    if (has_own_loss && !plugin_->has_loss())
      throw ConfigError({.what = "the plug-in's module has no function `loss`",
                         .where = path.string(),
                         .remedy = "write one: loss(samples, targets), or name another loss in "
                                   "loss.type"});
    for (const auto& [name, tensor] : plugin_->parameters()) adopt_parameter(name, tensor);
    adopt_buffers();
    try_out(data, has_own_loss);
  }

 private:
  at::Tensor run_forward(const ModelInput& input) override {
    const at::Tensor targets = input.targets.defined()
                                   ? input.targets.narrow(1, 0, input.targets.size(1) - 1)
                                   : at::Tensor();
    return plugin_->forward(input.samples, targets);
  }
  at::Tensor run_loss(const ModelInput& input, const at::Tensor& targets) override {
    return plugin_->loss(input.samples, targets);
  }
  void run_set_training(bool training) override { plugin_->set_training(training); }
  Named current_buffers() override { return plugin_->buffers(); }

  std::unique_ptr<ModelPlugin> plugin_;
};

}  // namespace

std::unique_ptr<Model> load_plugin_model(const std::filesystem::path& path, const DataShape& data,
                                         bool has_own_loss) {
  return std::make_unique<PluginModel>(path, data, has_own_loss);
}

}  // namespace scavenger
