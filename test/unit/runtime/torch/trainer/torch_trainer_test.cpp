#include "runtime/torch/trainer/torch_trainer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

TorchTrainerOptions small_mlp() {
  TorchTrainerOptions options;
  options.model.type = ModelType::kMlp;
  options.model.hidden = {7, 5};
  options.data.sample_shape = {2, 3};
  options.data.classes = 4;
  return options;
}

TorchTrainerOptions small_cnn() {
  TorchTrainerOptions options;
  options.model.type = ModelType::kCnn;
  options.model.channels = {3, 5};
  options.model.dense = 6;
  options.data.sample_shape = {2, 9, 8};
  options.data.classes = 4;
  return options;
}

struct Range {
  std::uint64_t first;
  std::uint64_t last;
  bool operator==(const Range&) const = default;
};

std::vector<Range> ready_ranges(BoundTrainer& bound, const Batch& batch) {
  std::vector<Range> ranges;
  bound.trainer->forward_backward(
      batch, 0, [&](std::uint64_t first, std::uint64_t last) { ranges.push_back({first, last}); });
  return ranges;
}

void descend(BoundTrainer& bound, float learning_rate) {
  for (std::size_t i = 0; i < bound.weights.size(); ++i)
    bound.weights[i] -= learning_rate * bound.gradients[i];
}

std::vector<std::pair<std::string, std::vector<std::int64_t>>> names_and_shapes(
    const TensorLayout& layout) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> result;
  for (const TensorPlace& place : layout.tensors()) result.emplace_back(place.name, place.shape);
  return result;
}

}  // namespace

TEST_CASE("An MLP's parameters have PyTorch's names, shapes and order") {
  const auto trainer = make_torch_trainer(small_mlp());

  CHECK(names_and_shapes(trainer->parameters()) ==
        decltype(names_and_shapes({})){{"layers.0.weight", {7, 6}},
                                       {"layers.0.bias", {7}},
                                       {"layers.1.weight", {5, 7}},
                                       {"layers.1.bias", {5}},
                                       {"layers.2.weight", {4, 5}},
                                       {"layers.2.bias", {4}}});
  CHECK(trainer->buffers().flat_size() == 0);
}

TEST_CASE("A CNN's parameters have PyTorch's names, shapes and order") {
  const auto trainer = make_torch_trainer(small_cnn());

  CHECK(names_and_shapes(trainer->parameters()) ==
        decltype(names_and_shapes({})){{"convolutions.0.weight", {3, 2, 3, 3}},
                                       {"convolutions.0.bias", {3}},
                                       {"convolutions.1.weight", {5, 3, 3, 3}},
                                       {"convolutions.1.bias", {5}},
                                       {"dense.0.weight", {6, 5 * 2 * 2}},
                                       {"dense.0.bias", {6}},
                                       {"dense.1.weight", {4, 6}},
                                       {"dense.1.bias", {4}}});
}

TEST_CASE(
    "ResNet18 for CIFAR-10 has 11,173,962 parameters and the running statistics of 20 norms") {
  TorchTrainerOptions options;
  options.model.type = ModelType::kResNet18;
  options.data.sample_shape = {3, 32, 32};
  options.data.classes = 10;
  const auto trainer = make_torch_trainer(options);

  CHECK(trainer->parameters().element_count() == 11'173'962);
  CHECK(trainer->parameters().tensors().front().name == "conv1.weight");
  CHECK(trainer->parameters().tensors().back().name == "fc.bias");
  CHECK(trainer->buffers().tensors().size() == 2 * 20);
  CHECK(trainer->buffers().tensors().front().name == "bn1.running_mean");
}

TEST_CASE("ResNets for ImageNet have as many parameters as torchvision's") {
  TorchTrainerOptions options;
  options.model.stem = ResNetStem::kImageNet;
  options.data.sample_shape = {3, 224, 224};
  options.data.classes = 1000;
  const auto parameters_of = [&](ModelType type) {
    options.model.type = type;
    return make_torch_trainer(options)->parameters().element_count();
  };

  CHECK(parameters_of(ModelType::kResNet18) == 11'689'512);
  CHECK(parameters_of(ModelType::kResNet34) == 21'797'672);
  CHECK(parameters_of(ModelType::kResNet50) == 25'557'032);
}

TEST_CASE("The base Transformer has 44,140,544 parameters beside its embedding") {
  constexpr std::uint32_t kVocabulary = 100;
  TorchTrainerOptions options;
  options.model.type = ModelType::kTransformerBase;
  options.model.transformer.shared_embeddings = SharedEmbeddings::kAll;
  options.data = {{9}, kVocabulary, TargetKind::kSequence, kVocabulary, {9}};

  CHECK(make_torch_trainer(options)->parameters().element_count() ==
        44'140'544 + kVocabulary * 512);
}

TEST_CASE("A ResNet18 for samples that are no images, or tiny ones, is refused") {
  TorchTrainerOptions options;
  options.model.type = ModelType::kResNet18;
  options.data.classes = 10;

  options.data.sample_shape = {3072};
  CHECK_THROWS_AS(make_torch_trainer(options), ConfigError);
  options.data.sample_shape = {3, 8, 32};
  CHECK_THROWS_AS(make_torch_trainer(options), ConfigError);
}

TEST_CASE("Without hidden layers an MLP is a linear classifier") {
  TorchTrainerOptions options = small_mlp();
  options.model.hidden = {};

  const auto trainer = make_torch_trainer(options);

  CHECK(trainer->parameters().element_count() == 6 * 4 + 4);
}

TEST_CASE("A CNN whose dense width is 0 goes straight to the classes") {
  TorchTrainerOptions options = small_cnn();
  options.model.dense = 0;

  const auto trainer = make_torch_trainer(options);

  CHECK(trainer->parameters().tensors().back().name == "dense.0.bias");
  CHECK(trainer->parameters().tensors().back().size == 4);
}

TEST_CASE("A CNN for samples that are no images is refused") {
  TorchTrainerOptions options = small_cnn();
  options.data.sample_shape = {144};

  CHECK_THROWS_AS(make_torch_trainer(options), ConfigError);
}

TEST_CASE("A CNN that halves its images to nothing is refused") {
  TorchTrainerOptions options = small_cnn();
  options.model.channels = {3, 3, 3, 3};

  CHECK_THROWS_AS(make_torch_trainer(options), ConfigError);
}

TEST_CASE("Initial weights are uniform within 1 / sqrt(fan in), for weights and biases") {
  TorchTrainerOptions options = small_mlp();
  options.data.sample_shape = {400};
  options.model.hidden = {300};
  BoundTrainer bound(make_torch_trainer(options));

  const TensorPlace& weight = bound.trainer->parameters().tensors()[0];
  const TensorPlace& bias = bound.trainer->parameters().tensors()[1];
  double sum_of_squares = 0.0;
  for (std::uint64_t i = 0; i < weight.size; ++i)
    sum_of_squares += std::pow(bound.weights[weight.offset + i], 2);
  const auto bias_values = std::span(bound.weights).subspan(bias.offset, bias.size);

  const double bound_value = 1.0 / 20.0;
  CHECK(*std::max_element(bound.weights.begin(), bound.weights.end()) < 1.0 / std::sqrt(300.0));
  CHECK(sum_of_squares / static_cast<double>(weight.size) ==
        Approx(bound_value * bound_value / 3.0).epsilon(0.01));
  CHECK(*std::max_element(bias_values.begin(), bias_values.end()) < bound_value);
  CHECK(*std::max_element(bias_values.begin(), bias_values.end()) > 0.9 * bound_value);
  CHECK(*std::min_element(bias_values.begin(), bias_values.end()) < -0.9 * bound_value);
}

TEST_CASE("Initial weights follow from the seed, and never change between versions") {
  TorchTrainerOptions options = small_mlp();
  const BoundTrainer first(make_torch_trainer(options));
  const BoundTrainer again(make_torch_trainer(options));
  options.seed = 2;
  const BoundTrainer other(make_torch_trainer(options));

  CHECK(first.weights == again.weights);
  CHECK(first.weights != other.weights);
  CHECK(first.weights[0] == -0.38681066f);
}

TEST_CASE("Ready ranges go from the last layer to the first and cover the flat vector") {
  for (const TorchTrainerOptions& options : {small_mlp(), small_cnn()}) {
    BoundTrainer bound(make_torch_trainer(options));

    std::vector<Range> ranges = ready_ranges(bound, random_batch(options.data.sample_shape, 3, 4));

    const std::size_t tensors = bound.trainer->parameters().tensors().size();
    REQUIRE(ranges.size() == tensors);
    // Weight and bias of one layer come in either order; layers come last to first.
    for (std::size_t i = 0; i + 2 < tensors; i += 2)
      CHECK(std::min(ranges[i].first, ranges[i + 1].first) ==
            std::max(ranges[i + 2].last, ranges[i + 3].last));
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
    CHECK(ranges.front().first == 0);
    CHECK(ranges.back().last == bound.gradients.size());
    for (std::size_t i = 0; i + 1 < tensors; ++i) CHECK(ranges[i].last == ranges[i + 1].first);
  }
}

TEST_CASE("A gradient that was told of is final, and its weights are not read any more") {
  const Batch batch = random_batch({2, 9, 8}, 8, 4);
  BoundTrainer reference(make_torch_trainer(small_cnn()));
  reference.trainer->forward_backward(batch, 0, {});
  BoundTrainer bound(make_torch_trainer(small_cnn()));

  FlatVector told(bound.gradients.size(), 0.0f);
  bound.trainer->forward_backward(batch, 0, [&](std::uint64_t first, std::uint64_t last) {
    std::copy(bound.gradients.begin() + static_cast<std::ptrdiff_t>(first),
              bound.gradients.begin() + static_cast<std::ptrdiff_t>(last),
              told.begin() + static_cast<std::ptrdiff_t>(first));
    std::fill(bound.weights.begin() + static_cast<std::ptrdiff_t>(first),
              bound.weights.begin() + static_cast<std::ptrdiff_t>(last),
              std::numeric_limits<float>::quiet_NaN());
  });

  CHECK(told == reference.gradients);
}

TEST_CASE("The gaps between tensors have gradient zero, whatever was there") {
  BoundTrainer bound(make_torch_trainer(small_mlp()));

  bound.trainer->forward_backward(random_batch({2, 3}, 3, 4), 0, {});

  std::vector<bool> is_gap(bound.gradients.size(), true);
  for (const TensorPlace& place : bound.trainer->parameters().tensors())
    std::fill_n(is_gap.begin() + static_cast<std::ptrdiff_t>(place.offset), place.size, false);
  for (std::size_t i = 0; i < is_gap.size(); ++i) {
    if (is_gap[i]) CHECK(bound.gradients[i] == 0.0f);
  }
}

TEST_CASE("A trainer that is bound to other memory trains there and leaves the old alone") {
  const Batch batch = random_batch({2, 3}, 3, 4);
  BoundTrainer bound(make_torch_trainer(small_mlp()));
  bound.trainer->forward_backward(batch, 0, {});
  const FlatVector first_gradients = bound.gradients;
  FlatVector weights = bound.weights;
  FlatVector gradients(weights.size(), -1.0f);
  for (float& weight : weights) weight *= 2.0f;

  bound.trainer->use_weights(weights);
  bound.trainer->use_gradients(gradients);
  bound.trainer->forward_backward(batch, 0, {});

  CHECK(bound.gradients == first_gradients);
  CHECK(gradients != first_gradients);
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(weights[i] == 2.0f * bound.weights[i]);
}

TEST_CASE("Weights that others change in place are what the next iteration uses") {
  const Batch batch = random_batch({2, 3}, 3, 4);
  BoundTrainer bound(make_torch_trainer(small_mlp()));
  std::fill(bound.weights.begin(), bound.weights.end(), 0.0f);

  const TrainingStep step = bound.trainer->forward_backward(batch, 0, {});

  CHECK(step.loss_sum == Approx(3 * std::log(4.0)).epsilon(1e-6));
}

TEST_CASE("Two runs give the same bits") {
  for (TorchTrainerOptions options : {small_mlp(), small_cnn()}) {
    options.threads = 2;
    BoundTrainer first(make_torch_trainer(options));
    BoundTrainer second(make_torch_trainer(options));

    for (std::uint64_t iteration = 0; iteration < 10; ++iteration) {
      for (BoundTrainer* bound : {&first, &second}) {
        const Batch batch = random_batch(options.data.sample_shape, 16, 4, iteration);
        bound->trainer->forward_backward(batch, iteration, {});
        descend(*bound, 0.1f);
      }
    }

    CHECK(first.weights == second.weights);
  }
}

TEST_CASE("Batches begin at cache lines, so that all of their gradients have the same bits") {
  TorchTrainerOptions options = small_mlp();
  options.data.sample_shape = {63};
  options.model.hidden = {33};
  BoundTrainer bound(make_torch_trainer(options));
  std::vector<Batch> batches;
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 16; ++i) {
    batches.push_back(random_batch(options.data.sample_shape, 2, 4));
    places.insert(reinterpret_cast<std::uintptr_t>(batches.back().features.data()) % 64);
  }
  REQUIRE(places == std::set<std::uintptr_t>{0});

  std::set<FlatVector> results;
  for (const Batch& batch : batches) {
    bound.trainer->forward_backward(batch, 0, {});
    results.insert(bound.gradients);
  }

  CHECK(results.size() == 1);
}

TEST_CASE("Gradient descent on one batch learns it") {
  for (const TorchTrainerOptions& options : {small_mlp(), small_cnn()}) {
    const Batch batch = random_batch(options.data.sample_shape, 8, 4);
    BoundTrainer bound(make_torch_trainer(options));

    for (int iteration = 0; iteration < 400; ++iteration) {
      bound.trainer->forward_backward(batch, 0, {});
      descend(bound, 0.3f);
    }

    CHECK(bound.trainer->evaluate(batch).correct == 8);
  }
}

TEST_CASE("Evaluation counts samples and right answers and sums the loss, and moves nothing") {
  // Without hidden layers, and with the identity for weights, the greatest feature is the answer.
  TorchTrainerOptions options = small_mlp();
  options.model.hidden = {};
  options.data.sample_shape = {4};
  BoundTrainer bound(make_torch_trainer(options));
  std::fill(bound.weights.begin(), bound.weights.end(), 0.0f);
  for (std::size_t i = 0; i < 4; ++i) bound.weights[i * 4 + i] = 1.0f;
  const FlatVector weights = bound.weights;
  const Batch batch{.size = 3,
                    .sample_shape = {4},
                    .features = {9, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9, 0},
                    .tokens = {},
                    .raw_images = {},
                    .target_shape = {},
                    .labels = {0, 1, 3},
                    .values = {}};

  const EvaluationSums sums = bound.trainer->evaluate(batch);

  const double right = std::log(1.0 + 3.0 * std::exp(-9.0));
  CHECK(sums.samples == 3);
  CHECK(sums.correct == 2);
  CHECK(sums.loss == Approx(2 * right + (9.0 + right)).epsilon(1e-5));
  CHECK(bound.weights == weights);
  CHECK(bound.gradients == FlatVector(bound.gradients.size(), 7.0f));
}

TEST_CASE("The loss of a training step is the sum that evaluation finds") {
  const Batch batch = random_batch({2, 3}, 5, 4);
  BoundTrainer bound(make_torch_trainer(small_mlp()));

  const TrainingStep step = bound.trainer->forward_backward(batch, 0, {});

  CHECK(step.loss_sum == Approx(bound.trainer->evaluate(batch).loss).epsilon(1e-5));
  CHECK(step.forward_seconds > 0.0);
  CHECK(step.backward_seconds > 0.0);
}

TEST_CASE("A loss that is not finite is an error, before any gradient is told of") {
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Batch batch = random_batch({2, 3}, 5, 4);
    batch.features[8] = value;
    BoundTrainer bound(make_torch_trainer(small_mlp()));
    bool told = false;

    CHECK_THROWS_AS(bound.trainer->forward_backward(batch, 0, [&](auto, auto) { told = true; }),
                    JobError);

    CHECK_FALSE(told);
  }
}

TEST_CASE("An error while telling of gradients comes out as it is, and the trainer goes on") {
  const Batch batch = random_batch({2, 3}, 5, 4);
  BoundTrainer bound(make_torch_trainer(small_mlp()));
  bound.trainer->forward_backward(batch, 0, {});
  const FlatVector gradients = bound.gradients;
  int calls = 0;

  CHECK_THROWS_AS(
      bound.trainer->forward_backward(
          batch, 0,
          [&](auto, auto) {
            if (++calls == 2)
              throw ConnectionError({.what = "a peer is lost", .where = {}, .remedy = {}});
          }),
      ConnectionError);
  std::fill(bound.gradients.begin(), bound.gradients.end(), 7.0f);
  bound.trainer->forward_backward(batch, 0, {});

  CHECK(calls == 2);
  CHECK(bound.gradients == gradients);
}

}  // namespace scavenger
