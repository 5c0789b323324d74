#include "runtime/torch/torchscript_model.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>
#include <torch/csrc/jit/serialization/import.h>

#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/torch/foreign_model.h"

namespace scavenger {
namespace {

namespace jit = torch::jit;

jit::Module load_module(const std::filesystem::path& path) {
  try {
    return jit::load(path.string(), at::kCPU);
  } catch (const std::exception&) {
    throw ConfigError({.what = "this is not a TorchScript file",
                       .where = path.string(),
                       .remedy = "write it with torch.jit.script(model).save(path)"});
  }
}

class TorchScriptModel final : public ForeignModel {
 public:
  TorchScriptModel(const std::filesystem::path& path, const DataShape& data, bool has_own_loss)
      : ForeignModel(path.string()), module_(load_module(path)) {
    jit::setGraphExecutorOptimize(false);
    if (has_own_loss && !module_.find_method("loss"))
      throw ConfigError({.what = "the module has no method `loss`",
                         .where = path.string(),
                         .remedy =
                             "export one: loss(self, samples, targets) -> Tensor, marked with "
                             "@torch.jit.export; or name another loss in loss.type"});
    module_.train(true);
    for (const auto& owner : module_.named_modules()) {
      const std::string prefix = owner.name.empty() ? "" : owner.name + ".";
      std::vector<std::pair<std::string, at::Tensor>> own;
      for (const auto& parameter : owner.value.named_parameters(/*recurse=*/false))
        own.emplace_back(parameter.name, parameter.value);
      jit::Module module = owner.value;
      for (const auto& [name, tensor] : own)
        module.setattr(name, adopt_parameter(prefix + name, tensor));
    }
    adopt_buffers();
    try_out(data, has_own_loss);
  }

 private:
  at::Tensor run_forward(const ModelInput& input) override {
    std::vector<c10::IValue> arguments = {input.samples};
    if (input.targets.defined())
      arguments.emplace_back(input.targets.narrow(1, 0, input.targets.size(1) - 1));
    return module_.forward(std::move(arguments)).toTensor();
  }

  at::Tensor run_loss(const ModelInput& input, const at::Tensor& targets) override {
    return module_.get_method("loss")({input.samples, targets}).toTensor();
  }

  void run_set_training(bool training) override { module_.train(training); }

  Named current_buffers() override {
    Named buffers;
    for (const auto& buffer : module_.named_buffers())
      buffers.emplace_back(buffer.name, buffer.value);
    return buffers;
  }

  jit::Module module_;
};

}  // namespace

std::unique_ptr<Model> load_torchscript_model(const std::filesystem::path& path,
                                              const DataShape& data, bool has_own_loss) {
  return std::make_unique<TorchScriptModel>(path, data, has_own_loss);
}

}  // namespace scavenger
