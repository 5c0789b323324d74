// Writes a model's initial weights, a batch, and the gradient that the trainer computes, for
// gradient_reference_test.py.
//
//   gradient_dump MODEL FOLDER     layout.json, and weights, gradients, features, values, buffers
//   before and after the pass (float32), tokens, labels (int64) as raw .bin

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

TorchTrainerOptions transformer_options(bool normalise_first, SharedEmbeddings shared) {
  TorchTrainerOptions options;
  options.model.type = ModelType::kTransformerTiny;
  options.model.transformer = {.width = 16,
                               .heads = 4,
                               .inner = 24,
                               .encoder_layers = 2,
                               .decoder_layers = 2,
                               .dropout = 0.0,
                               .normalise_first = normalise_first,
                               .shared_embeddings = shared};
  options.loss = {LossType::kCrossEntropy, 0.1};
  options.data = {.sample_shape = {7},
                  .vocabulary = 19,
                  .target = TargetKind::kSequence,
                  .classes = shared == SharedEmbeddings::kAll ? 19u : 23u,
                  .target_shape = {9}};
  return options;
}

TorchTrainerOptions language_model_options() {
  TorchTrainerOptions options;
  options.model.type = ModelType::kLanguageModel;
  options.model.transformer = {.width = 16,
                               .heads = 2,
                               .inner = 24,
                               .decoder_layers = 2,
                               .dropout = 0.0,
                               .normalise_first = true};
  options.data = {.sample_shape = {8},
                  .vocabulary = 19,
                  .target = TargetKind::kNextTokens,
                  .classes = 19,
                  .target_shape = {}};
  return options;
}

TorchTrainerOptions resnet_options(ModelType type, ResNetStem stem,
                                   std::vector<std::int64_t> sample_shape) {
  TorchTrainerOptions options;
  options.model.type = type;
  options.model.stem = stem;
  options.data.classes = 10;
  options.data.sample_shape = std::move(sample_shape);
  return options;
}

TorchTrainerOptions mlp_options() {
  TorchTrainerOptions options;
  options.model.hidden = {33, 20};
  options.data.classes = 10;
  options.data.sample_shape = {1, 7, 9};
  return options;
}

TorchTrainerOptions regressor_options(LossType loss) {
  TorchTrainerOptions options = mlp_options();
  options.loss.type = loss;
  options.data.target = TargetKind::kValues;
  options.data.classes = 0;
  options.data.target_shape = {5, 2};
  return options;
}

TorchTrainerOptions cnn_options() {
  TorchTrainerOptions options;
  options.model.type = ModelType::kCnn;
  options.model.channels = {5, 12};
  options.model.dense = 17;
  options.data.classes = 10;
  options.data.sample_shape = {3, 15, 14};
  return options;
}

const std::map<std::string, std::function<TorchTrainerOptions()>> kModels = {
    {"mlp", mlp_options},
    {"mlp_tanh",
     [] {
       TorchTrainerOptions options = mlp_options();
       options.model.activation = Activation::kTanh;
       return options;
     }},
    {"mlp_mse", [] { return regressor_options(LossType::kMse); }},
    {"mlp_l1", [] { return regressor_options(LossType::kL1); }},
    {"mlp_bce", [] { return regressor_options(LossType::kBce); }},
    {"cnn", cnn_options},
    {"resnet18",
     [] { return resnet_options(ModelType::kResNet18, ResNetStem::kCifar, {3, 17, 12}); }},
    {"resnet18_imagenet",
     [] { return resnet_options(ModelType::kResNet18, ResNetStem::kImageNet, {3, 37, 45}); }},
    {"resnet50",
     [] { return resnet_options(ModelType::kResNet50, ResNetStem::kCifar, {3, 17, 12}); }},
    {"transformer", [] { return transformer_options(false, SharedEmbeddings::kTarget); }},
    {"transformer_pre_norm", [] { return transformer_options(true, SharedEmbeddings::kAll); }},
    {"transformer_unshared", [] { return transformer_options(true, SharedEmbeddings::kNone); }},
    {"language_model", language_model_options},
};

template <typename Values>
void write_values(const std::filesystem::path& path, const Values& values) {
  write_file_atomically(path, std::string_view(reinterpret_cast<const char*>(values.data()),
                                               values.size() * sizeof(values[0])));
}

void write_buffers(const Trainer& trainer, const std::filesystem::path& path) {
  std::vector<float> buffers(trainer.buffers().flat_size());
  trainer.read_buffers(buffers);
  write_values(path, buffers);
}

nlohmann::json places_of(const TensorLayout& layout) {
  nlohmann::json places = nlohmann::json::array();
  for (const TensorPlace& place : layout.tensors())
    places.push_back({{"name", place.name}, {"shape", place.shape}, {"offset", place.offset}});
  return places;
}

void dump(const std::string& model, const std::filesystem::path& folder) {
  const TorchTrainerOptions options = kModels.at(model)();
  BoundTrainer bound(make_torch_trainer(options));
  Trainer& trainer = *bound.trainer;
  write_buffers(trainer, folder / "buffers_before.bin");
  const Batch batch = random_batch(options.data, 13);
  const TrainingStep step = trainer.forward_backward(batch, 0, {});
  const EvaluationSums sums = trainer.evaluate(batch);

  nlohmann::json layout = {{"sample_shape", batch.sample_shape},
                           {"target_shape", batch.target_shape},
                           {"loss_terms", batch.loss_terms},
                           {"batch_size", batch.size},
                           {"loss_sum", step.loss_sum},
                           {"evaluation_loss", sums.loss},
                           {"predictions", sums.predictions},
                           {"correct", sums.correct},
                           {"negative_log_likelihood", sums.negative_log_likelihood},
                           {"squared_error", sums.squared_error},
                           {"tensors", places_of(trainer.parameters())},
                           {"buffers", places_of(trainer.buffers())}};
  write_file_atomically(folder / "layout.json", layout.dump(2));
  write_values(folder / "weights.bin", bound.weights);
  write_values(folder / "gradients.bin", bound.gradients);
  write_values(folder / "features.bin", batch.features);
  write_values(folder / "tokens.bin", batch.tokens);
  write_values(folder / "labels.bin", batch.labels);
  write_values(folder / "values.bin", batch.values);
  write_buffers(trainer, folder / "buffers_after.bin");
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  if (argc != 3 || !scavenger::kModels.contains(argv[1])) {
    std::fprintf(stderr, "usage: gradient_dump MODEL FOLDER\n");
    return 2;
  }
  scavenger::dump(argv[1], argv[2]);
  return 0;
}
