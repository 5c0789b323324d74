#include "runtime/worker/half_batch_probe.h"

#include <catch2/catch.hpp>

#include "test/worker/quadratic_job.h"

using namespace scavenger;

namespace {

// Feature j of sample i is i: the gradient of a range of samples is w minus the mean of its
// indices.
Batch counted_samples(std::uint32_t size) {
  Batch batch;
  batch.size = size;
  for (std::uint32_t i = 0; i < size; ++i)
    batch.features.insert(batch.features.end(), 16, static_cast<float>(i));
  return batch;
}

struct Bench {
  explicit Bench(double share = 0.01, std::vector<ParameterGroup> groups = {})
      : probe(trainer, clock, groups.empty() ? one_group(trainer.parameters()) : groups, share) {
    trainer.use_weights(weights);
    trainer.use_gradients(gradients);
  }

  ManualClock clock;
  QuadraticTrainer trainer{clock};
  std::vector<float> weights = std::vector<float>(16), gradients = std::vector<float>(16);
  HalfBatchProbe probe;
};

}  // namespace

TEST_CASE("half batches give the norms of their gradients and of their weighted mean") {
  Bench bench;

  const HalfBatchNorms norms = bench.probe.measure(counted_samples(5), 7, 1, bench.gradients);

  CHECK(norms.iteration == 7);
  CHECK(norms.first_samples == 2);
  CHECK(norms.second_samples == 3);
  CHECK(norms.first_sqr_norm.at(0) == Approx(16 * 0.5 * 0.5));
  CHECK(norms.second_sqr_norm.at(0) == Approx(16 * 3.0 * 3.0));
  CHECK(norms.whole_sqr_norm.at(0) == Approx(16 * 2.0 * 2.0));
  CHECK(norms.seconds == Approx(0.04));
}

TEST_CASE("half batches leave no trace: the gradients in use and the buffers are as before") {
  Bench bench;
  bench.gradients.assign(16, 9.0F);
  bench.trainer.passes = 3.0F;

  bench.probe.measure(counted_samples(4), 0, 1, bench.gradients);

  CHECK(bench.gradients == std::vector<float>(16, 9.0F));
  CHECK(bench.trainer.passes == 3.0F);
  bench.trainer.forward_backward(counted_samples(4), 1, [](std::uint64_t, std::uint64_t) {});
  CHECK(bench.gradients == std::vector<float>(16, -1.5F));
}

TEST_CASE("groups of parameters have their norms in their order") {
  Bench bench(0.01, {{"back", {{8, 8}}}, {"front", {{0, 4}}}});

  const HalfBatchNorms norms = bench.probe.measure(counted_samples(2), 0, 1, bench.gradients);

  CHECK(norms.second_sqr_norm == std::vector<double>{8.0, 4.0});
}

TEST_CASE("half batches keep within their share of the time") {
  Bench bench(0.01);
  double spent = 0.0;
  for (int i = 0; i < 2000; ++i) {
    if (bench.probe.is_due(0.02)) {
      bench.probe.measure(counted_samples(2), 0, 1, bench.gradients);
      spent += 0.04;
    }
    bench.clock.seconds = bench.clock.seconds + 0.02;
  }
  CHECK(spent > 0.3);
  CHECK(spent <= 0.01 * 2000 * 0.0201 + 0.04);
  CHECK_FALSE(Bench(0.0).probe.is_due(0.02));
}

TEST_CASE("layers are groups of their tensors") {
  TensorLayout layout;
  layout.add("layers.0.weight", {3, 2});
  layout.add("layers.0.bias", {3});
  layout.add("layers.1.weight", {2});

  const std::vector<ParameterGroup> groups = group_by_layer(layout);

  REQUIRE(groups.size() == 2);
  CHECK(groups[0].name == "layers.0");
  CHECK(groups[0].ranges.size() == 2);
  CHECK(groups[0].ranges[1].first == layout.tensors()[1].offset);
  CHECK(groups[1].ranges[0].size == 2);
}
