#include "runtime/torch/model_registry.h"

#include <map>

#include "runtime/torch/cnn.h"
#include "runtime/torch/mlp.h"
#include "runtime/torch/resnet18.h"

namespace scavenger {
namespace {

using ModelFactory = std::unique_ptr<Model> (*)(const ModelConfig&,
                                                const std::vector<std::int64_t>& sample_shape,
                                                std::int64_t classes);

// A new model is one line here, its type in job_config.h, and a file of its own.
const std::map<ModelType, ModelFactory> kModels = {
    {ModelType::kMlp, make_mlp},
    {ModelType::kCnn, make_cnn},
    {ModelType::kResNet18, make_resnet18},
};

}  // namespace

std::unique_ptr<Model> make_model(const ModelConfig& config,
                                  const std::vector<std::int64_t>& sample_shape,
                                  std::int64_t classes) {
  return kModels.at(config.type)(config, sample_shape, classes);
}

}  // namespace scavenger
