#include "runtime/torch/models/model_registry.h"

#include <map>

#include "runtime/base/error.h"
#include "runtime/torch/imported/plugin_model.h"
#include "runtime/torch/imported/torchscript_model.h"
#include "runtime/torch/models/cnn.h"
#include "runtime/torch/models/language_model.h"
#include "runtime/torch/models/mlp.h"
#include "runtime/torch/models/resnet.h"
#include "runtime/torch/models/transformer.h"

namespace scavenger {
namespace {

using ModelFactory = std::unique_ptr<Model> (*)(const ModelConfig&, const DataShape&);

// A new model needs a line here, a type in model_config.h, and a file of its own.
const std::map<ModelType, ModelFactory> kModels = {
    {ModelType::kMlp, make_mlp},
    {ModelType::kCnn, make_cnn},
    {ModelType::kResNet18, make_resnet},
    {ModelType::kResNet34, make_resnet},
    {ModelType::kResNet50, make_resnet},
    {ModelType::kTransformerBase, make_transformer},
    {ModelType::kTransformerTiny, make_transformer},
    {ModelType::kLanguageModel, make_language_model},
};

}  // namespace

std::unique_ptr<Model> make_model(const ModelConfig& config, const DataShape& data,
                                  const LossConfig& loss) {
  const bool has_own_loss = loss.type == LossType::kModel;
  if (config.type == ModelType::kTorchScript)
    return load_torchscript_model(config.path, data, has_own_loss);
  if (config.type == ModelType::kPlugin) return load_plugin_model(config.path, data, has_own_loss);
  if (config.type == ModelType::kPython)
    throw ConfigError({.what = "a model in Python answers in Python alone",
                       .where = config.path.string(),
                       .remedy = "write its weights with scavenger-export, and load them there "
                                 "with load_state_dict"});
  return kModels.at(config.type)(config, data);
}

}  // namespace scavenger
