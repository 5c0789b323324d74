// What models may do that the built-in ones do not: parameters that are shared or unused, buffers,
// dropout.
#include "runtime/torch/trainer/model_trainer.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/torch/layers/dense.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

namespace scavenger {
namespace {

constexpr std::int64_t kWidth = 4;  // features, and classes

void count_up(std::span<float> values, RandomStream&) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>(i + 1);
}

// x W^T, `times` times over, beside a parameter that is never used.
class RepeatedModel final : public Model {
 public:
  explicit RepeatedModel(int times) : times_(times) {}
  at::Tensor forward(const ModelInput& input) override {
    at::Tensor x = input.samples;
    for (int i = 0; i < times_; ++i) x = at::linear(x, weight_.tensor);
    return x;
  }

 private:
  int times_;
  Parameter unused_ = add_parameter("unused", {3}, count_up);
  Parameter weight_ = add_parameter("weight", {kWidth, kWidth}, count_up);
};

// The same with the layer that writes its gradients itself.
class RepeatedDenseModel final : public Model {
 public:
  explicit RepeatedDenseModel(int times) : times_(times) {}
  at::Tensor forward(const ModelInput& input) override {
    at::Tensor x = input.samples;
    for (int i = 0; i < times_; ++i) x = dense(x, weight_, bias_);
    return x;
  }

 private:
  int times_;
  Parameter weight_ = add_parameter("weight", {kWidth, kWidth}, count_up);
  Parameter bias_ = add_parameter("bias", {kWidth}, count_up);
};

class NormalisedModel final : public Model {
 public:
  at::Tensor forward(const ModelInput& input) override {
    return at::batch_norm(at::linear(input.samples, weight_.tensor), {}, {}, mean_, variance_,
                          training(), 0.1, 1e-5, false);
  }

 private:
  Parameter weight_ = add_parameter("weight", {kWidth, kWidth}, count_up);
  at::Tensor mean_ = add_buffer("running_mean", {kWidth}, count_up);
  at::Tensor variance_ = add_buffer("running_var", {kWidth}, count_up);
};

class DropoutModel final : public Model {
 public:
  at::Tensor forward(const ModelInput& input) override {
    return at::linear(at::dropout(input.samples, 0.5, training()), weight_.tensor);
  }
  bool draws_random_numbers() const override { return true; }

 private:
  Parameter weight_ = add_parameter("weight", {kWidth, kWidth}, count_up);
};

// Has memory for two samples.
class HungryModel final : public Model {
 public:
  at::Tensor forward(const ModelInput& input) override {
    most_samples = std::max(most_samples, input.samples.size(0));
    TORCH_CHECK_WITH(OutOfMemoryError, input.samples.size(0) <= 2, "there is no more");
    return at::linear(input.samples, weight_.tensor);
  }
  static inline std::int64_t most_samples = 0;

 private:
  Parameter weight_ = add_parameter("weight", {kWidth, kWidth}, count_up);
};

// Keeps 1000 floats of each sample for backward.
class WideModel final : public Model {
 public:
  at::Tensor forward(const ModelInput& input) override {
    sizes.push_back(input.samples.size(0));
    const at::Tensor wide = input.samples.repeat({1, 1000 / kWidth}).mul(scale_.tensor);
    return wide.view({-1, 1000 / kWidth, kWidth}).mean(1);
  }
  static inline std::vector<std::int64_t> sizes;  // of the passes

 private:
  Parameter scale_ = add_parameter("scale", {1000}, count_up);
};

BoundTrainer bound_trainer(std::unique_ptr<Model> model, std::uint32_t micro_batch = 0) {
  TrainerOptions options;
  options.compute.micro_batch = micro_batch;
  options.data.sample_shape = {kWidth};
  options.data.classes = kWidth;
  return BoundTrainer(std::make_unique<ModelTrainer>(std::move(model), options));
}

// Of the mean loss along one weight, by central differences.
double slope_at(BoundTrainer& bound, const Batch& batch, std::size_t place) {
  const float step = 1e-2f;
  const float weight = bound.weights[place];
  bound.weights[place] = weight + step;
  const double above = bound.trainer->evaluate(batch).loss;
  bound.weights[place] = weight - step;
  const double below = bound.trainer->evaluate(batch).loss;
  bound.weights[place] = weight;
  return (above - below) / (2.0 * step * batch.size);
}

FlatVector gradient_of(BoundTrainer& bound, std::uint64_t random_key) {
  bound.trainer->forward_backward(random_batch({kWidth}, 6, kWidth), random_key, {});
  return bound.gradients;
}

}  // namespace

TEST_CASE("A parameter that is not used has gradient zero and is told of at the end") {
  BoundTrainer bound = bound_trainer(std::make_unique<RepeatedModel>(1));
  std::vector<std::uint64_t> firsts;

  bound.trainer->forward_backward(random_batch({kWidth}, 6, kWidth), 0,
                                  [&](std::uint64_t first, auto) { firsts.push_back(first); });

  CHECK(firsts == std::vector<std::uint64_t>{kTensorAlignment, 0});
  CHECK(std::vector<float>(bound.gradients.begin(), bound.gradients.begin() + kTensorAlignment) ==
        std::vector<float>(kTensorAlignment, 0.0f));
}

TEST_CASE("A parameter that is used twice is told of once, with the sum of both gradients") {
  for (const bool writes_itself : {false, true}) {
    BoundTrainer bound = writes_itself ? bound_trainer(std::make_unique<RepeatedDenseModel>(2))
                                       : bound_trainer(std::make_unique<RepeatedModel>(2));
    const Batch batch = random_batch({kWidth}, 6, kWidth);
    int calls = 0;
    bound.trainer->forward_backward(batch, 0, [&](auto, auto) { ++calls; });

    const std::size_t tensor = writes_itself ? 0 : 1;
    const std::size_t probe = bound.trainer->parameters().tensors()[tensor].offset + 5;

    CHECK(calls == 2);
    CHECK(bound.gradients[probe] == Approx(slope_at(bound, batch, probe)).epsilon(1e-3));
  }
}

TEST_CASE("Uses are counted anew in each iteration, also after one that failed") {
  BoundTrainer bound = bound_trainer(std::make_unique<RepeatedDenseModel>(1));
  const Batch batch = random_batch({kWidth}, 6, kWidth);
  Batch broken = batch;
  broken.features[0] = std::numeric_limits<float>::quiet_NaN();

  CHECK_THROWS_AS(bound.trainer->forward_backward(broken, 0, {}), JobError);
  bound.trainer->forward_backward(batch, 0, {});
  bound.trainer->forward_backward(batch, 0, {});

  CHECK(bound.gradients[5] == Approx(slope_at(bound, batch, 5)).epsilon(1e-3));
}

TEST_CASE("Backward runs in the thread that asked for it") {
  BoundTrainer bound = bound_trainer(std::make_unique<RepeatedModel>(1));
  std::vector<std::thread::id> threads;

  bound.trainer->forward_backward(random_batch({kWidth}, 6, kWidth), 0, [&](auto, auto) {
    threads.push_back(std::this_thread::get_id());
  });

  CHECK(threads == std::vector<std::thread::id>(2, std::this_thread::get_id()));
}

TEST_CASE("Buffers start at their initial values, follow training, and can be put back") {
  BoundTrainer bound = bound_trainer(std::make_unique<NormalisedModel>());
  const Batch batch = random_batch({kWidth}, 6, kWidth);
  std::vector<float> start(bound.trainer->buffers().flat_size());
  bound.trainer->read_buffers(start);
  const double start_loss = bound.trainer->evaluate(batch).loss;

  bound.trainer->forward_backward(batch, 0, {});
  std::vector<float> trained(start.size());
  bound.trainer->read_buffers(trained);
  const double trained_loss = bound.trainer->evaluate(batch).loss;
  bound.trainer->write_buffers(start);

  CHECK(bound.trainer->buffers().tensors()[1].name == "running_var");
  CHECK(start[bound.trainer->buffers().tensors()[1].offset + 2] == 0.3f);
  CHECK(trained != start);
  CHECK(trained_loss != start_loss);
  CHECK(bound.trainer->evaluate(batch).loss == start_loss);
}

TEST_CASE("Dropout is decided by the random key, and off in evaluation") {
  BoundTrainer bound = bound_trainer(std::make_unique<DropoutModel>());
  const Batch batch = random_batch({kWidth}, 6, kWidth);

  const FlatVector first = gradient_of(bound, 1);
  const FlatVector other = gradient_of(bound, 2);
  const FlatVector again = gradient_of(bound, 1);

  CHECK(first == again);
  CHECK(first != other);
  CHECK(bound.trainer->evaluate(batch).loss == bound.trainer->evaluate(batch).loss);
}

TEST_CASE("Micro-batches give the gradient of the whole batch, and tell of each parameter once") {
  for (const bool writes_itself : {false, true}) {
    const auto make = [writes_itself]() -> std::unique_ptr<Model> {
      if (writes_itself) return std::make_unique<RepeatedDenseModel>(1);
      return std::make_unique<RepeatedModel>(2);
    };
    BoundTrainer whole = bound_trainer(make());
    BoundTrainer parts = bound_trainer(make(), 3);
    const Batch batch = random_batch({kWidth}, 8, kWidth);
    int calls = 0;

    const TrainingStep step = whole.trainer->forward_backward(batch, 0, {});
    const TrainingStep sum =
        parts.trainer->forward_backward(batch, 0, [&](auto, auto) { ++calls; });

    CHECK(calls == 2);
    CHECK(sum.loss_sum == Approx(step.loss_sum));
    for (std::size_t i = 0; i < whole.gradients.size(); ++i)
      CHECK(parts.gradients[i] == Approx(whole.gradients[i]).margin(1e-6));
  }
}

TEST_CASE("Micro-batches are of nearly one size") {
  BoundTrainer bound = bound_trainer(std::make_unique<WideModel>(), 6);
  WideModel::sizes.clear();

  bound.trainer->forward_backward(random_batch({kWidth}, 13, kWidth), 0, {});

  CHECK(WideModel::sizes == std::vector<std::int64_t>{4, 4, 5});
}

TEST_CASE("Where memory does not suffice, micro-batches are halved until it does") {
  BoundTrainer bound = bound_trainer(std::make_unique<HungryModel>());
  BoundTrainer reference = bound_trainer(std::make_unique<RepeatedModel>(1));
  const Batch batch = random_batch({kWidth}, 7, kWidth);
  reference.trainer->forward_backward(batch, 0, {});

  HungryModel::most_samples = 0;
  bound.trainer->forward_backward(batch, 0, {});

  CHECK(HungryModel::most_samples == 7);
  const std::size_t offset = reference.trainer->parameters().tensors()[1].offset;
  for (std::size_t i = 0; i < kWidth * kWidth; ++i)
    CHECK(bound.gradients[i] == Approx(reference.gradients[offset + i]).margin(1e-6));

  HungryModel::most_samples = 0;
  bound.trainer->forward_backward(batch, 0, {});
  CHECK(HungryModel::most_samples == 1);  // 7, 3, 1: it remembers
}

TEST_CASE(
    "What a sample takes is measured, and as many are computed at a time as there is room for") {
  const Batch batch = random_batch({kWidth}, 40, kWidth);
  const auto trainer_with = [](std::uint64_t available) {
    TrainerOptions options;
    options.data.sample_shape = {kWidth};
    options.data.classes = kWidth;
    options.available_bytes = [available] { return available; };
    return BoundTrainer(std::make_unique<ModelTrainer>(std::make_unique<WideModel>(), options));
  };
  BoundTrainer enough = trainer_with(std::uint64_t{1} << 40);
  BoundTrainer little = trainer_with(0);

  WideModel::sizes.clear();
  enough.trainer->forward_backward(batch, 0, {});
  CHECK(WideModel::sizes == std::vector<std::int64_t>{2, 4, 40});  // two to measure by
  const SampleMemory measured = enough.trainer->sample_memory();
  CHECK(measured.bytes_per_sample >= 1000 * sizeof(float));
  CHECK(measured.bytes_per_sample <= 4 * 1000 * sizeof(float));
  CHECK(measured.room_samples >= 40);
  CHECK(measured.room_samples <= (std::uint64_t{1} << 40) / measured.bytes_per_sample);

  little.trainer->forward_backward(batch, 0, {});
  for (std::size_t i = 0; i < 1000; ++i)
    CHECK(little.gradients[i] == Approx(enough.gradients[i]).margin(1e-6));
  CHECK(little.trainer->sample_memory().room_samples == 1);
  WideModel::sizes.clear();
  little.trainer->forward_backward(batch, 0, {});
  CHECK(WideModel::sizes == std::vector<std::int64_t>(40, 1));
}

}  // namespace scavenger
