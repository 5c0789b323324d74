// What is there for GPUs, on the CPU: the same code, with another device.
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "ps/collective/host_replica.h"
#include "runtime/base/error.h"
#include "runtime/process/gpus.h"
#include "runtime/torch/models/mlp.h"
#include "runtime/torch/trainer/device_mirror.h"
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
      norms.push_back(replica->finish());
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

TEST_CASE(
    "a mirror brings weights there, and gradients back in the order in which they were made") {
  DeviceMirror mirror(at::kCPU, 32);
  std::vector<float> weights(32, 3.0F), gradients(32, 7.0F);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  const GradientReady ready = [&](std::uint64_t first, std::uint64_t last) {
    told.emplace_back(first, last);
  };

  mirror.bring_weights(weights);
  CHECK(mirror.weights().eq(3.0).all().item<bool>());
  mirror.begin(gradients, ready);
  mirror.gradients().narrow(0, 16, 16).fill_(1.0);
  mirror.gradient_ready(16, 32);
  CHECK(gradients[15] == 7.0F);
  CHECK(gradients[16] == 1.0F);
  mirror.gradients().narrow(0, 0, 16).fill_(2.0);
  mirror.gradient_ready(0, 16);
  mirror.finish();

  CHECK(gradients[0] == 2.0F);
  CHECK(told == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{16, 32}, {0, 16}});
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

TEST_CASE("the CPU can always be had, and a GPU only where there is one") {
  CHECK_FALSE(choose_device(Device::kCpu, 0).is_gpu);
  if (choose_device(Device::kAutomatic, 0).is_gpu) {
    CHECK(count_gpus() > 0);
    return;
  }
  CHECK_THROWS_AS(choose_device(Device::kCuda, 0), ConfigError);
}
