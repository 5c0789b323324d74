// What is there for GPUs, on the CPU: the same code, with another device.
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "ps/collective/host_replica.h"
#include "runtime/base/error.h"
#include "runtime/process/gpus.h"
#include "runtime/torch/layers/dropout.h"
#include "runtime/torch/layers/initial_values.h"
#include "runtime/torch/models/cnn.h"
#include "runtime/torch/models/mlp.h"
#include "runtime/torch/trainer/loss_scale.h"
#include "runtime/torch/trainer/model_trainer.h"
#include "runtime/torch/trainer/tensor_replica.h"
#include "test/unit/ps/core/random_floats.h"
#include "test/unit/runtime/torch/trainer/bound_trainer.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

using namespace scavenger;

namespace {

constexpr std::uint64_t kFloats = 1000;

std::vector<OptimizerConfig> optimizers() {
  std::vector<OptimizerConfig> all(6);
  all[0].weight_decay = 1e-2;
  all[1].momentum = 0.9;
  all[1].dampening = 0.3;
  all[2].momentum = 0.9;
  all[2].nesterov = true;
  all[3].type = OptimizerType::kAdam;
  all[3].weight_decay = 1e-2;
  all[4].type = OptimizerType::kAdamW;
  all[4].weight_decay = 1e-2;
  all[5].momentum = 0.9;
  all[5].clip_norm = 0.5;
  return all;
}

std::vector<float> saved(Replica& replica, std::uint32_t index, std::uint64_t iteration) {
  std::vector<float> values(kFloats);
  replica.save(index, iteration, 0, values);
  return values;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("a replica of tensors does what one of the parameter server's kernels does") {
  const OptimizerConfig optimizer = GENERATE(from_range(optimizers()));
  ps::HostReplica host(ps::ChunkLayout(kFloats, 1024, 1), optimizer);
  const auto tensors = make_tensor_replica(kFloats, optimizer, {});
  REQUIRE(tensors->state_vectors() == host.state_vectors());
  const auto initial = ps::random_floats(kFloats, 1);
  std::vector<Replica*> both = {&host, tensors.get()};
  for (Replica* replica : both) {
    replica->clear(0);
    replica->load(0, 0, 0, initial);
  }

  for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
    std::vector<GradientNorms> norms;
    for (Replica* replica : both) {
      const auto gradient = ps::random_floats(kFloats, 10 + iteration);
      std::ranges::copy(gradient, replica->gradients().begin());
      replica->begin({iteration, 0.05, iteration + 1});
      for (const FlatRange range : {FlatRange{512, 488}, FlatRange{0, 512}}) {
        replica->weight(range, 0.75F);
        replica->step(range);
      }
      replica->begin_steps();
      const auto at_once = replica->finish();
      norms.push_back(at_once ? *at_once : replica->late_norms().norms);
    }

    CHECK(norms[1].local_sqr_norm == Approx(norms[0].local_sqr_norm).epsilon(1e-5));
    CHECK(norms[1].global_sqr_norm == Approx(norms[0].global_sqr_norm).epsilon(1e-5));
    for (std::uint32_t index = 0; index <= host.state_vectors(); ++index)
      CHECK(largest_difference(saved(*tensors, index, iteration + 1),
                               saved(host, index, iteration + 1)) < 1e-5);
    // The version before is still there: an iteration can be undone.
    CHECK(largest_difference(saved(*tensors, 0, iteration), saved(host, 0, iteration)) < 1e-5);
  }
}

TEST_CASE("what a sample takes on a device follows from the most that a pass used") {
  const DeviceMemory before{.free = 700, .reserved = 300, .used = 100, .most_used = 100};
  const DeviceMemory after{.free = 100, .reserved = 900, .used = 100, .most_used = 500};
  const SampleMemory memory = sample_memory_on_device(before, after, 8);
  CHECK(memory.bytes_per_sample == 50);
  CHECK(memory.room_samples == 16);  // nine tenths of 900 bytes
  CHECK(sample_memory_on_device(before, before, 8).bytes_per_sample == 0);
}

TEST_CASE("the factor of a loss grows after many passes, and shrinks with each overflow") {
  LossScale scale;
  const double begin = scale.value();
  for (std::uint32_t i = 0; i + 1 < LossScale::kPassesToGrow; ++i) scale.note_success();
  CHECK(scale.value() == begin);
  scale.note_success();
  CHECK(scale.value() == 2.0 * begin);
  CHECK(scale.halve());
  CHECK(scale.value() == begin);
  while (scale.halve()) {
  }
  CHECK(scale.value() == 1.0);
}

TEST_CASE("a mirrored trainer has the bits of one that works in the host's memory") {
  ModelConfig config;
  config.hidden = {8};
  TrainerOptions options;
  options.data.sample_shape = {5};
  options.data.classes = 3;
  options.compute.micro_batch = GENERATE(0, 4);
  const auto make = [&](bool is_mirrored) {
    options.placement = {at::kCPU, is_mirrored};
    return BoundTrainer(std::make_unique<ModelTrainer>(make_mlp(config, options.data), options));
  };
  BoundTrainer direct = make(false), mirrored = make(true);
  CHECK(mirrored.weights == direct.weights);
  CHECK(mirrored.trainer->vectors_are_on_host());
  const Batch batch = random_batch(options.data, 6);

  for (int i = 0; i < 3; ++i) {
    for (BoundTrainer* each : {&direct, &mirrored}) {
      each->trainer->use_weights(each->weights);
      std::uint64_t floats = 0;
      each->trainer->forward_backward(
          batch, 1, [&](std::uint64_t first, std::uint64_t last) { floats += last - first; });
      CHECK(floats == each->weights.size());
      for (std::size_t p = 0; p < each->weights.size(); ++p)
        each->weights[p] -= 0.1F * each->gradients[p];
      each->trainer->use_weights(each->weights);
    }
    CHECK(mirrored.gradients == direct.gradients);
    CHECK(mirrored.weights == direct.weights);
    CHECK(mirrored.trainer->evaluate(batch).loss == direct.trainer->evaluate(batch).loss);
  }
}

namespace {

// A small network on images, and one batch for it.
BoundTrainer small_network(ComputeConfig compute, bool is_mirrored = false,
                           std::function<void(const std::string&)> say = nullptr) {
  ModelConfig config;
  config.channels = {8, 8};
  config.dense = 16;
  TrainerOptions options;
  options.data.sample_shape = {3, 8, 8};
  options.data.classes = 5;
  options.compute = compute;
  options.placement = {at::kCPU, is_mirrored};
  if (say) options.say = std::move(say);
  return BoundTrainer(std::make_unique<ModelTrainer>(make_cnn(config, options.data), options));
}

Batch small_images() {
  return random_batch({3, 8, 8}, 8, 5);
}

double distance(const FlatVector& a, const FlatVector& b) {
  double square = 0.0, whole = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += std::pow(static_cast<double>(a[i]) - b[i], 2);
    whole += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(square / whole);
}

}  // namespace

TEST_CASE("the order of images changes gradients by no more than their rounding") {
  BoundTrainer automatic = small_network({});
  automatic.trainer->forward_backward(small_images(), 1, {});
  for (const ImageOrder order : {ImageOrder::kChannelsFirst, ImageOrder::kChannelsLast}) {
    BoundTrainer other = small_network({.image_order = order});
    other.trainer->forward_backward(small_images(), 1, {});
    CHECK(distance(other.gradients, automatic.gradients) < 1e-5);
  }
}

TEST_CASE("float16 with a scaled loss has the gradients of float32, but for their rounding") {
  const bool is_mirrored = GENERATE(false, true);
  BoundTrainer whole = small_network({});
  BoundTrainer half = small_network({.precision = Precision::kFloat16}, is_mirrored);
  std::uint64_t floats = 0;
  const TrainingStep expected = whole.trainer->forward_backward(small_images(), 1, {});
  const TrainingStep step = half.trainer->forward_backward(
      small_images(), 1, [&](std::uint64_t first, std::uint64_t last) { floats += last - first; });

  CHECK(floats == half.gradients.size());
  CHECK(step.loss_sum == Approx(expected.loss_sum).epsilon(1e-2));
  const double difference = distance(half.gradients, whole.gradients);
  CHECK(difference < 1e-2);
  CHECK(difference > 0.0);  // it did compute in another precision
}

TEST_CASE("a transformer with dropout trains in reduced precision") {
  TorchTrainerOptions options;
  options.data = {{7}, 15, TargetKind::kSequence, 12, {9}};
  options.loss = {LossType::kCrossEntropy};
  options.model.type = ModelType::kTransformerTiny;
  options.model.transformer = {.width = 16,
                               .heads = 2,
                               .inner = 20,
                               .encoder_layers = 1,
                               .decoder_layers = 1,
                               .dropout = 0.3};
  const Batch batch = random_batch(options.data, 6);
  BoundTrainer whole(make_torch_trainer(options));
  const double expected = whole.trainer->forward_backward(batch, 1, {}).loss_sum;
  for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
    options.compute.precision = precision;
    BoundTrainer reduced(make_torch_trainer(options));
    CHECK(reduced.trainer->forward_backward(batch, 1, {}).loss_sum ==
          Approx(expected).epsilon(0.05));
    CHECK(distance(reduced.gradients, whole.gradients) < 0.1);
  }
}

TEST_CASE("float16 gradients that overflow are computed again with half the factor") {
  std::vector<std::string> said;
  BoundTrainer bound = small_network({.precision = Precision::kFloat16}, false,
                                     [&](const std::string& text) { said.push_back(text); });
  Batch batch = small_images();
  for (float& feature : batch.features) feature *= 300.0F;  // 65504 is the largest of float16
  std::uint64_t floats = 0;
  bound.trainer->forward_backward(
      batch, 1, [&](std::uint64_t first, std::uint64_t last) { floats += last - first; });

  CHECK_FALSE(said.empty());
  CHECK(floats == bound.gradients.size());  // each was reported once
  CHECK(std::ranges::all_of(bound.gradients, [](float value) { return std::isfinite(value); }));
}

namespace {

// scripts/gpu_check.sh sets it, since only there is a GPU.
at::Device device_under_test() {
  const char* const wanted = std::getenv("SCAVENGER_TEST_DEVICE");
  const at::Device device(wanted == nullptr ? "cpu" : wanted);
  return device.is_cpu() ? device : at::Device(device.type(), 0);  // trainers have numbered ones
}

}  // namespace

TEST_CASE("the device under test trains as the CPU does") {
  const at::Device device = device_under_test();
  const bool has_batch_ahead = GENERATE(false, true);
  ModelConfig config;
  config.channels = {8, 8};
  config.dense = 16;
  TrainerOptions options;
  options.data.sample_shape = {3, 8, 8};
  options.data.classes = 5;
  const auto make = [&](ModelPlacement placement) {
    options.placement = placement;
    return BoundTrainer(std::make_unique<ModelTrainer>(make_cnn(config, options.data), options));
  };
  BoundTrainer reference = make({at::kCPU, false});
  BoundTrainer there = make({device, true});
  CHECK(there.weights == reference.weights);

  for (std::uint32_t iteration = 0; iteration < 5; ++iteration) {
    Batch batch = random_batch(options.data, 8, iteration);
    batch.first_position = 8 * iteration;
    if (has_batch_ahead) there.trainer->expect(batch);
    std::vector<TrainingStep> steps;
    for (BoundTrainer* each : {&reference, &there}) {
      each->trainer->keep_buffers();
      each->trainer->use_weights(each->weights);
      steps.push_back(each->trainer->forward_backward(batch, iteration, {}));
      for (std::size_t i = 0; i < each->weights.size(); ++i)
        each->weights[i] -= 0.05F * each->gradients[i];
      if (iteration == 2) each->trainer->release_vectors();  // as at a reshape
    }
    CHECK(steps[1].loss_sum == Approx(steps[0].loss_sum).epsilon(1e-4));
    CHECK(steps[1].forward_seconds > 0.0);
    CHECK(distance(there.weights, reference.weights) < 1e-4);
    there.trainer->use_weights(there.weights);
    CHECK(there.trainer->evaluate(batch).samples == 8);
  }
}

namespace {

// Its buffers move with each pass of training.
class NormalisedModel final : public Model {
 public:
  at::Tensor forward(const ModelInput& input) override {
    return at::batch_norm(input.samples.mul(weight_.tensor), {}, {}, mean_, variance_, training(),
                          0.1, 1e-5, false);
  }

 private:
  Parameter weight_ = add_parameter("weight", {4}, all_equal(0.5F));
  at::Tensor mean_ = add_buffer("running_mean", {4}, all_equal(0.0F));
  at::Tensor variance_ = add_buffer("running_var", {4}, all_equal(1.0F));
};

}  // namespace

namespace {

// Runs out of memory in its first backward pass, when the gradient of `last` has been computed.
class BackwardHungryModel final : public Model {
 public:
  at::Tensor forward(const ModelInput& input) override {
    const at::Tensor inner = at::linear(input.samples, first_.tensor);
    if (training())
      inner.register_hook([this](const at::Tensor&) {
        ++passes;
        TORCH_CHECK_WITH(OutOfMemoryError, passes > 1, "there is no more");
      });
    return at::linear(inner, last_.tensor);
  }
  int passes = 0;

 private:
  Parameter first_ = add_parameter("first", {4, 4}, all_equal(0.25F));
  Parameter last_ = add_parameter("last", {4, 4}, all_equal(0.5F));
};

}  // namespace

TEST_CASE("memory that runs out in the backward pass is not the end, if nothing was handed over") {
  std::vector<std::string> said;
  TrainerOptions options;
  options.data.sample_shape = {4};
  options.data.classes = 4;
  options.compute.micro_batch = 6;  // so that the CPU is not measured before
  options.tell = [&](const std::string& text) { said.push_back(text); };
  auto model = std::make_unique<BackwardHungryModel>();
  const BackwardHungryModel& counted = *model;
  options.placement = {at::kCPU, true};
  BoundTrainer bound(std::make_unique<ModelTrainer>(std::move(model), options));
  std::uint64_t floats = 0;

  bound.trainer->forward_backward(
      random_batch(options.data, 6), 1,
      [&](std::uint64_t first, std::uint64_t last) { floats += last - first; });

  CHECK(counted.passes == 3);  // one of six samples, then two of three
  CHECK(floats == bound.gradients.size());
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Catch::Contains("at most 3"));
}

TEST_CASE("warming a device up leaves no trace") {
  TrainerOptions options;
  options.data.sample_shape = {4};
  options.data.classes = 4;
  options.placement = {device_under_test(), true};
  const auto make = [&](bool is_warm) {
    auto trainer = std::make_unique<ModelTrainer>(std::make_unique<NormalisedModel>(), options);
    if (is_warm) trainer->warm_up();
    return BoundTrainer(std::move(trainer));
  };
  BoundTrainer cold = make(false), warm = make(true);
  CHECK(warm.weights == cold.weights);
  std::vector<std::vector<float>> buffers;
  for (BoundTrainer* each : {&cold, &warm}) {
    each->trainer->forward_backward(random_batch(options.data, 6), 1, {});
    buffers.emplace_back(each->trainer->buffers().flat_size());
    each->trainer->read_buffers(buffers.back());
  }
  CHECK(warm.gradients == cold.gradients);
  CHECK(buffers[1] == buffers[0]);
  CHECK(buffers[0][0] != 0.0F);
}

TEST_CASE("the device under test makes the masks of the CPU, to the bit") {
  const std::vector<MaskKey> keys = {mask_key(7, 0), mask_key(~std::uint64_t{0}, 0)};
  const at::Tensor numbers = at::zeros({2, 2}, at::kInt);
  auto* const values = reinterpret_cast<std::uint32_t*>(numbers.data_ptr<std::int32_t>());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    values[i] = keys[i].key;
    values[keys.size() + i] = keys[i].step;
  }
  const at::Tensor there = mask_by_operators(numbers.to(device_under_test()), 70001, 0.3);
  CHECK(there.cpu().equal(mask_on_cpu(keys, 70001, 0.3)));
}

TEST_CASE("the CPU can always be had, and a GPU only where there is one") {
  CHECK_FALSE(choose_device(Device::kCpu, 0).is_gpu);
  if (choose_device(Device::kAutomatic, 0).is_gpu) {
    CHECK(count_gpus() > 0);
    return;
  }
  CHECK_THROWS_AS(choose_device(Device::kCuda, 0), ConfigError);
}
