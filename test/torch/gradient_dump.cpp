// Writes a model's initial weights, a batch, and the gradient that the trainer computes, for
// gradient_reference_test.py.
//
//   gradient_dump mlp|cnn|resnet18 FOLDER     layout.json, and weights, gradients, features,
//   buffers before and after the pass (float32), labels (int64) as raw .bin

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/torch/torch_trainer.h"
#include "test/torch/bound_trainer.h"
#include "test/torch/random_batch.h"

namespace scavenger {
namespace {

TorchTrainerOptions options_of(const std::string& model) {
  TorchTrainerOptions options;
  options.classes = 10;
  if (model == "mlp") {
    options.model.type = ModelType::kMlp;
    options.model.hidden = {33, 20};
    options.sample_shape = {1, 7, 9};
  } else if (model == "resnet18") {
    options.model.type = ModelType::kResNet18;
    options.sample_shape = {3, 17, 12};
  } else {
    options.model.type = ModelType::kCnn;
    options.model.channels = {5, 12};
    options.model.dense = 17;
    options.sample_shape = {3, 15, 14};
  }
  return options;
}

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
  const TorchTrainerOptions options = options_of(model);
  BoundTrainer bound(make_torch_trainer(options));
  Trainer& trainer = *bound.trainer;
  write_buffers(trainer, folder / "buffers_before.bin");
  const Batch batch = random_batch(options.sample_shape, 13, options.classes);
  const TrainingStep step = trainer.forward_backward(batch, 0, {});
  const EvaluationSums sums = trainer.evaluate(batch);

  nlohmann::json layout = {{"sample_shape", batch.sample_shape},
                           {"batch_size", batch.size},
                           {"loss_sum", step.loss_sum},
                           {"evaluation_loss", sums.loss},
                           {"correct", sums.correct},
                           {"tensors", places_of(trainer.parameters())},
                           {"buffers", places_of(trainer.buffers())}};
  write_file_atomically(folder / "layout.json", layout.dump(2));
  write_values(folder / "weights.bin", bound.weights);
  write_values(folder / "gradients.bin", bound.gradients);
  write_values(folder / "features.bin", batch.features);
  write_values(folder / "labels.bin", batch.labels);
  write_buffers(trainer, folder / "buffers_after.bin");
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: gradient_dump mlp|cnn|resnet18 FOLDER\n");
    return 2;
  }
  scavenger::dump(argv[1], argv[2]);
  return 0;
}
