#include "runtime/worker/half_batch_probe.h"

#include <catch2/catch.hpp>

#include "test/unit/runtime/worker/quadratic_job.h"

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
  explicit Bench(HalfBatchShare share = {.usual = 0.01},
                 const std::vector<ParameterGroup>& groups = {})
      : probe(trainer, clock, groups.empty() ? one_group(trainer.parameters()) : groups, share) {
    trainer.use_weights(weights);
    trainer.use_gradients(gradients);
  }

  ManualClock clock;
  QuadraticTrainer trainer{clock};
  std::vector<float> weights = std::vector<float>(16), gradients = std::vector<float>(16);
  HalfBatchProbe probe;
};

// For asides, in iterations of 0.02 seconds from `first` to before `last`.
double spent_seconds(Bench& bench, std::uint64_t first, std::uint64_t last) {
  double spent = 0.0;
  for (std::uint64_t i = first; i < last; ++i) {
    if (bench.probe.is_due(i, 0.02)) {
      bench.probe.measure(counted_samples(2), i, 1, bench.gradients);
      spent += 0.04;
    }
    bench.clock.seconds = bench.clock.seconds + 0.02;
  }
  return spent;
}

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
  Bench bench({.usual = 0.01}, {{"back", {{8, 8}}}, {"front", {{0, 4}}}});

  const HalfBatchNorms norms = bench.probe.measure(counted_samples(2), 0, 1, bench.gradients);

  CHECK(norms.second_sqr_norm == std::vector<double>{8.0, 4.0});
}

TEST_CASE("half batches keep within their share of the time") {
  Bench bench({.usual = 0.01});
  const double spent = spent_seconds(bench, 0, 2000);
  CHECK(spent > 0.3);
  CHECK(spent <= 0.01 * 2000 * 0.0201 + 0.04);
  Bench none{HalfBatchShare{}};
  CHECK(spent_seconds(none, 0, 2000) == 0.0);
}

TEST_CASE("the first iterations of a job that searches may have more half batches") {
  Bench bench({.usual = 0.01, .early = 0.1, .early_iterations = 500});

  const double early = spent_seconds(bench, 0, 500);
  const double later = spent_seconds(bench, 500, 2000);

  CHECK(early > 0.9);
  CHECK(early <= 0.1 * 500 * 0.024 + 0.04);
  CHECK(later > 0.2);  // at once: what was spent early is not owed
  CHECK(later <= 0.01 * 1500 * 0.0201 + 0.04);
}

TEST_CASE("only a search has a cold start") {
  JobConfig config;
  CHECK(half_batch_share(config).at(0) == config.noise.half_batch_share);
  config.search.mode = SearchMode::kPartial;
  CHECK(half_batch_share(config).at(0) == config.noise.cold_start_share);
  CHECK(half_batch_share(config).at(config.search.cold_start_iterations) ==
        config.noise.half_batch_share);
  config.search.mode = SearchMode::kAuto;  // spends nothing before it knows that it is worth it
  CHECK(half_batch_share(config).at(0) == config.noise.half_batch_share);
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
