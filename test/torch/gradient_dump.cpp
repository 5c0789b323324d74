// Writes a model's initial weights, a batch, and the gradient that the trainer computes, for
// gradient_reference_test.py.
//
//   gradient_dump mlp|cnn FOLDER     layout.json, and weights, gradients, features (float32),
//   labels (int64) as raw .bin

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

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

void dump(const std::string& model, const std::filesystem::path& folder) {
  const TorchTrainerOptions options = options_of(model);
  BoundTrainer bound(make_torch_trainer(options));
  const Batch batch = random_batch(options.sample_shape, 13, options.classes);
  const TrainingStep step = bound.trainer->forward_backward(batch, 0, {});
  const EvaluationSums sums = bound.trainer->evaluate(batch);

  nlohmann::json layout = {{"sample_shape", batch.sample_shape},
                           {"batch_size", batch.size},
                           {"loss_sum", step.loss_sum},
                           {"evaluation_loss", sums.loss},
                           {"correct", sums.correct},
                           {"tensors", nlohmann::json::array()}};
  for (const TensorPlace& place : bound.trainer->parameters().tensors())
    layout["tensors"].push_back(
        {{"name", place.name}, {"shape", place.shape}, {"offset", place.offset}});
  write_file_atomically(folder / "layout.json", layout.dump(2));
  write_values(folder / "weights.bin", bound.weights);
  write_values(folder / "gradients.bin", bound.gradients);
  write_values(folder / "features.bin", batch.features);
  write_values(folder / "labels.bin", batch.labels);
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: gradient_dump mlp|cnn FOLDER\n");
    return 2;
  }
  scavenger::dump(argv[1], argv[2]);
  return 0;
}
