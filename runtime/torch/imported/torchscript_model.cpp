#include "runtime/torch/imported/torchscript_model.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>
#include <torch/csrc/jit/serialization/import.h>

#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/torch/imported/foreign_model.h"

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

// Returns whether batch normalisation or dropout is fixed to evaluation mode, whatever
// module.train() sets: torch.jit.trace records the mode at the time of tracing.
bool ignores_training(const jit::Block& block) {
  for (const jit::Node* node : block.nodes()) {
    const std::string_view kind = node->kind().toQualString();
    const std::size_t place = kind == "aten::batch_norm" ? 5 : kind == "aten::dropout" ? 2 : 0;
    if (place > 0 && place < node->inputs().size()) {
      const auto training = jit::constant_as<bool>(node->input(place));
      if (training && !*training) return true;
    }
    for (const jit::Block* inner : node->blocks())
      if (ignores_training(*inner)) return true;
  }
  return false;
}

void require_trainable(const jit::Module& module, const std::filesystem::path& path) {
  const auto forward = module.find_method("forward");
  if (!forward) return;
  const auto graph = forward->graph()->copy();
  jit::Inline(*graph);
  if (ignores_training(*graph->block()))
    throw ConfigError({.what = "the model was traced in eval() mode, so its batch normalisation or "
                               "dropout would not train",
                       .where = path.string(),
                       .remedy = "call model.train() before torch.jit.trace, or use "
                                 "torch.jit.script(model)"});
}

std::string kind_of(const c10::IValue& value) {
  if (value.isGenericDict()) return "a dictionary";
  if (value.isTuple()) return "a tuple";
  if (value.isList()) return "a list";
  return value.isNone() ? "nothing" : "no tensor";
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
    require_trainable(module_, path);
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
    return tensor_of(module_.forward(std::move(arguments)), "forward()");
  }

  at::Tensor run_loss(const ModelInput& input, const at::Tensor& targets) override {
    return tensor_of(module_.get_method("loss")({input.samples, targets}), "loss()");
  }

  at::Tensor tensor_of(const c10::IValue& answer, const std::string& method) const {
    if (answer.isTensor()) return answer.toTensor();
    throw ConfigError(
        {.what = method + " answers " + kind_of(answer) + ", and should answer a tensor",
         .where = file(),
         .remedy = "wrap the model in a module whose " + method +
                   " returns that tensor alone, as answer[\"logits\"]"});
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
