// A model in a shared library is trained like a built-in one; what is no plug-in is an error.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "runtime/base/error.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

TorchTrainerOptions options_for(const char* library) {
  TorchTrainerOptions options;
  options.model.type = ModelType::kPlugin;
  options.model.path = std::filesystem::path(SCAVENGER_PLUGIN_FOLDER) / library;
  options.data.sample_shape = {1, 4, 3};
  options.data.classes = 5;
  return options;
}

std::string complaint_about(const char* library) {
  try {
    make_torch_trainer(options_for(library));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

void descend(BoundTrainer& bound, const Batch& batch) {
  bound.trainer->forward_backward(batch, 1, {});
  for (std::size_t i = 0; i < bound.weights.size(); ++i)
    bound.weights[i] -= 0.5f * bound.gradients[i];
}

}  // namespace

TEST_CASE("A plug-in's tensors have their module's names, and are trained") {
  BoundTrainer bound(make_torch_trainer(options_for("libexample_plugin.so")));
  const Batch batch = random_batch({1, 4, 3}, 16, 5);
  const auto& parameters = bound.trainer->parameters().tensors();
  const auto& buffers = bound.trainer->buffers().tensors();

  CHECK(parameters.front().name == "first.weight");
  CHECK(parameters.size() == 6);
  CHECK(buffers.size() == 3);
  CHECK(buffers.back().name == "norm.num_batches_tracked:I64");
  const double before = bound.trainer->evaluate(batch).loss;
  for (int i = 0; i < 20; ++i) descend(bound, batch);
  CHECK(bound.trainer->evaluate(batch).loss < 0.8 * before);
}

TEST_CASE("A plug-in's loss may be its own") {
  TorchTrainerOptions options = options_for("libexample_plugin.so");
  BoundTrainer named(make_torch_trainer(options));
  options.loss.type = LossType::kModel;
  BoundTrainer own(make_torch_trainer(options));
  const Batch batch = random_batch({1, 4, 3}, 16, 5);

  const TrainingStep step = named.trainer->forward_backward(batch, 3, {});

  CHECK(own.weights == named.weights);
  CHECK(own.trainer->forward_backward(batch, 3, {}).loss_sum == Approx(step.loss_sum));
  CHECK(own.gradients == named.gradients);
  CHECK(own.trainer->evaluate(batch).loss == Approx(named.trainer->evaluate(batch).loss));
}

TEST_CASE("A library that is no plug-in, or one for another version, is refused") {
  CHECK_THAT(complaint_about("libother_plugin.so"),
             Catch::Contains("built against another version (interface 0, LibTorch 1.0.0"));
  CHECK_THAT(complaint_about("libno_plugin.so"),
             Catch::Contains("the library has no function scavenger_plugin_version"));
  CHECK_THAT(complaint_about("libnowhere.so"), Catch::Contains("cannot load the plug-in"));
}

}  // namespace scavenger
