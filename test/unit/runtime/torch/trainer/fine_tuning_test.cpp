// Starting from weights in a file, and freezing some of them.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/safetensors/safetensors.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

TorchTrainerOptions small_mlp() {
  TorchTrainerOptions options;
  options.model.hidden = {5};
  options.data.sample_shape = {3};
  options.data.classes = 4;
  return options;
}

struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  float value;
};

const std::vector<StoredTensor> kWhole = {{"layers.0.weight", {5, 3}, 0.25f},
                                          {"layers.0.bias", {5}, 0.5f},
                                          {"layers.1.weight", {4, 5}, -0.5f},
                                          {"layers.1.bias", {4}, 1.0f}};

std::filesystem::path store(const TemporaryFolder& folder,
                            const std::vector<StoredTensor>& tensors) {
  std::vector<std::vector<float>> values;
  std::vector<TensorSource> sources;
  for (const StoredTensor& tensor : tensors) {
    std::size_t size = 1;
    for (const std::int64_t side : tensor.shape) size *= static_cast<std::size_t>(side);
    values.emplace_back(size, tensor.value);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    sources.push_back({tensors[i].name, ElementType::kF32, tensors[i].shape,
                       std::as_bytes(std::span(values[i]))});
  std::string content = safetensors_preamble(sources, {});
  for (const TensorSource& source : sources)
    content.append(reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size());
  const auto path = folder.path() / "start.safetensors";
  write_file_atomically(path, content);
  return path;
}

std::string complaint(const TorchTrainerOptions& options) {
  try {
    make_torch_trainer(options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("Weights in a file of torch.save() are told what they should be") {
  const TemporaryFolder folder;
  TorchTrainerOptions options = small_mlp();
  options.model.start.weights = folder.path() / "weights.pt";
  for (const char* start : {"PK\x03\x04 and so on, of some length", "\x80\x02 and so on"}) {
    write_file_atomically(options.model.start.weights, start);
    CHECK_THAT(complaint(options), Catch::Contains("torch.save()") &&
                                       Catch::Contains("weights.pt") &&
                                       Catch::Contains("safetensors.torch.save_file"));
  }
}

TEST_CASE("A model starts from the weights of a file, but for what is excepted") {
  const TemporaryFolder folder;
  TorchTrainerOptions options = small_mlp();
  const BoundTrainer random(make_torch_trainer(options));
  options.model.start = {store(folder, kWhole), {"layers.1.*"}};

  const BoundTrainer bound(make_torch_trainer(options));

  const auto& places = bound.trainer->parameters().tensors();
  CHECK(bound.weights[places[0].offset + 14] == 0.25f);
  CHECK(bound.weights[places[1].offset] == 0.5f);
  CHECK(bound.weights[places[2].offset] == random.weights[places[2].offset]);
  CHECK(bound.weights[places[3].offset + 3] == random.weights[places[3].offset + 3]);
}

TEST_CASE("Tensors that are missing, too many or of another shape are listed by name") {
  const TemporaryFolder folder;
  TorchTrainerOptions options = small_mlp();
  options.model.start.weights = store(folder, {{"layers.0.weight", {5, 3}, 0.0f},
                                               {"layers.0.bias", {6}, 0.0f},
                                               {"layers.1.weight", {4, 5}, 0.0f},
                                               {"head.weight", {1}, 0.0f},
                                               {"bn1.num_batches_tracked", {1}, 0.0f}});

  const std::string text = complaint(options);

  CHECK_THAT(text, Catch::Contains("missing in the file: layers.1.bias;"));
  CHECK_THAT(text, Catch::Contains("not in this model: head.weight;"));
  CHECK_THAT(text, Catch::Contains("layers.0.bias is [6] and should be [5]"));
}

TEST_CASE("Frozen parameters are in no flat vector, and the others train as with them") {
  const TemporaryFolder folder;
  TorchTrainerOptions options = small_mlp();
  options.model.start.weights = store(folder, kWhole);
  BoundTrainer whole(make_torch_trainer(options));
  options.model.freeze = {"layers.0.*"};
  BoundTrainer frozen(make_torch_trainer(options));
  const Batch batch = random_batch({3}, 8, 4);

  whole.trainer->forward_backward(batch, 0, {});
  frozen.trainer->forward_backward(batch, 0, {});

  const auto& places = frozen.trainer->parameters().tensors();
  REQUIRE(places.size() == 2);
  CHECK(places[0].name == "layers.1.weight");
  const std::uint64_t offset = whole.trainer->parameters().tensors()[2].offset;
  CHECK(FlatVector(whole.gradients.begin() + static_cast<std::ptrdiff_t>(offset),
                   whole.gradients.end()) == frozen.gradients);
  CHECK(frozen.trainer->evaluate(batch).loss == whole.trainer->evaluate(batch).loss);
}

TEST_CASE("A job does not go on with other frozen parameters than it was begun with") {
  const TemporaryFolder folder;
  TorchTrainerOptions options = small_mlp();
  options.model.start.weights = store(folder, kWhole);
  options.model.freeze = {"layers.0.*"};
  const auto first = make_torch_trainer(options);
  std::vector<float> buffers(first->buffers().flat_size());
  first->read_buffers(buffers);
  first->write_buffers(buffers);
  std::vector<StoredTensor> other = kWhole;
  other[1].value = 0.75f;
  options.model.start.weights = store(folder, other);

  const auto second = make_torch_trainer(options);

  CHECK_THROWS_AS(second->write_buffers(buffers), ConfigError);
}

TEST_CASE("A pattern that fits nothing, or all, freezes nothing sensible") {
  TorchTrainerOptions options = small_mlp();
  options.model.freeze = {"layers.7.*"};
  CHECK_THAT(complaint(options), Catch::Contains("the model has no parameter \"layers.7.*\""));
  options.model.freeze = {"*"};
  CHECK_THAT(complaint(options), Catch::Contains("all parameters are frozen"));
}

}  // namespace scavenger
