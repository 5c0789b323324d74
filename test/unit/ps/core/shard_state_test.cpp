#include "ps/core/shard_state.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/base/error.h"
#include "test/unit/ps/core/shard_job.h"

using namespace scavenger::ps;
using scavenger::OptimizerConfig;
using scavenger::OptimizerType;
using scavenger::ProtocolError;

namespace {

struct Result {
  std::vector<float> weights;
  std::vector<double> sqr_norms;

  bool operator==(const Result&) const = default;
};

Result train(const ShardJob::Options& options, const std::vector<std::uint32_t>& batch_sizes,
             std::uint64_t order_key) {
  ShardJob job(options);
  job.reconfigure(1, batch_sizes);
  for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
    job.iterate(order_key * 1000 + iteration);
  }
  return {.weights = job.weights(), .sqr_norms = job.sqr_norms()};
}

}  // namespace

TEST_CASE("any order of arrival gives the same bits") {
  const Result in_order = train({}, {3, 8, 5}, 0);

  for (std::uint64_t key = 1; key < 20; ++key) CHECK(train({}, {3, 8, 5}, key) == in_order);
}

TEST_CASE("any number of shards gives the same bits, norms included") {
  const Result one = train({}, {3, 8, 5}, 0);

  for (const std::uint32_t shards : {2, 3, 7, 16}) {
    CHECK(train({.shard_count = shards}, {3, 8, 5}, shards) == one);
  }
}

TEST_CASE("any chunk size gives the same weights, and norms to rounding") {
  const Result reference = train({.chunk_bytes = 1 << 20}, {3, 8, 5}, 0);

  for (const std::uint64_t chunk_bytes : {64, 192, 1024, 2048}) {
    const Result result = train({.chunk_bytes = chunk_bytes}, {3, 8, 5}, chunk_bytes);
    CHECK(result.weights == reference.weights);
    for (std::size_t k = 0; k < result.sqr_norms.size(); ++k) {
      CHECK(result.sqr_norms[k] == Approx(reference.sqr_norms[k]).epsilon(1e-6));
    }
  }
}

TEST_CASE("a job's weights are those of one reducer over the whole vector, step by step") {
  const ShardJob::Options options{.shard_count = 2,
                                  .optimizer = {.type = OptimizerType::kAdam, .schedule = {}}};
  ShardJob job(options);
  const std::size_t n = options.flat_size;
  std::vector<float> weights = job.weights(), exp_avg(n), exp_avg_sq(n);
  std::vector<double> rank_sqr_norms(2);
  job.reconfigure(1, {3, 5});

  for (std::uint64_t iteration = 0; iteration < 4; ++iteration) {
    const auto g0 = ShardJob::gradient(n, iteration, 0), g1 = ShardJob::gradient(n, iteration, 1);
    const std::vector<Contribution> contributions = {{.gradient = g0.data(), .share = 3.0F / 8},
                                                     {.gradient = g1.data(), .share = 5.0F / 8}};
    const OptimizerStep step = Optimizer(options.optimizer).step(0.1, iteration + 1);
    const Version version{weights, {exp_avg, exp_avg_sq}};
    ChunkReducer().update(contributions, step, version, version, rank_sqr_norms);
    job.iterate(iteration);

    CHECK(job.weights() == weights);
    CHECK(job.sqr_norms()[1] == Approx(rank_sqr_norms[1]).epsilon(1e-6));
  }
}

TEST_CASE("all of it holds for Adam, whose state has two vectors") {
  const OptimizerConfig adam = {
      .type = OptimizerType::kAdamW, .weight_decay = 1e-2, .schedule = {}};

  CHECK(train({.shard_count = 3, .optimizer = adam}, {1, 1}, 5) ==
        train({.shard_count = 1, .optimizer = adam}, {1, 1}, 6));
}

TEST_CASE("a chunk steps with its last contribution, the iteration ends with its last chunk") {
  ShardJob job({.flat_size = 128, .chunk_bytes = 256});
  job.reconfigure(1, {1, 1});
  ParameterShard& shard = job.shards()[0];
  const auto initial = job.weights();

  CHECK(job.bring(0, 1) == Outcome::kWaiting);
  CHECK(job.bring(1, 0) == Outcome::kWaiting);
  CHECK(job.weights() == initial);
  CHECK(shard.at_boundary());
  CHECK(job.bring(0, 0) == Outcome::kChunkComplete);
  CHECK_FALSE(shard.at_boundary());
  CHECK(shard.iteration() == 0);
  CHECK(job.bring(1, 1) == Outcome::kIterationComplete);
  CHECK(shard.progress() == ShardProgress{.iteration = 1, .optimizer_steps = 1});
  CHECK(shard.at_boundary());
}

TEST_CASE("a stale message changes nothing") {
  ShardJob job({});
  job.reconfigure(4, {1, 1});
  job.iterate(0);
  job.bring(0, 0);
  const auto weights = job.weights();
  ParameterShard& shard = job.shards()[0];
  const ChunkStamp now = job.stamp(0, 1);

  ChunkStamp earlier_epoch = now;
  earlier_epoch.membership_epoch = 3;
  earlier_epoch.rank = 77;  // there were more ranks then
  ChunkStamp earlier_iteration = now;
  earlier_iteration.iteration = 0;

  CHECK(shard.admit(earlier_epoch, 64) == Admission::kStale);
  CHECK(shard.contribute(earlier_epoch, 0.1) == Outcome::kStale);
  CHECK(shard.contribute(earlier_iteration, 0.1) == Outcome::kStale);
  CHECK(job.weights() == weights);
  CHECK(shard.contribute(now, 0.1) == Outcome::kChunkComplete);
}

TEST_CASE("a message that nobody can honestly send is refused and changes nothing") {
  ShardJob job({.shard_count = 2});
  job.reconfigure(4, {1, 1});
  job.bring(0, 0);
  ParameterShard& shard = job.shards()[0];
  const ChunkStamp good = job.stamp(2, 1);
  const auto weights = job.weights();

  const auto refused = [&](auto change, std::uint64_t size = 64) {
    ChunkStamp bad = good;
    change(bad);
    CHECK_THROWS_AS(shard.admit(bad, size), ProtocolError);
    if (size == 64) CHECK_THROWS_AS(shard.contribute(bad, 0.1), ProtocolError);
  };
  refused([](ChunkStamp& s) { s.membership_epoch = 5; });
  refused([](ChunkStamp& s) { s.iteration = 1; });
  refused([](ChunkStamp& s) { s.rank = 2; });
  refused([](ChunkStamp& s) { s.chunk = 3; });  // of the other shard
  refused([](ChunkStamp& s) { s.chunk = 4'000'000'000; });
  refused([](ChunkStamp& s) { s.chunk = 0, s.rank = 0; });  // a second time
  refused([](ChunkStamp&) {}, 63);
  refused([](ChunkStamp&) {}, std::numeric_limits<std::uint64_t>::max());

  CHECK(job.weights() == weights);
  CHECK(shard.admit(good, 64) == Admission::kAccepted);
  CHECK(shard.contribute(job.stamp(0, 1), 0.1) == Outcome::kChunkComplete);
}

TEST_CASE("the next iteration is refused until this one is complete, also for a finished chunk") {
  ShardJob job({.flat_size = 128, .chunk_bytes = 256});
  job.reconfigure(1, {1});
  CHECK(job.bring(0, 0) == Outcome::kChunkComplete);
  ChunkStamp ahead = job.stamp(0, 0);
  ahead.iteration = 1;

  CHECK_THROWS_AS(job.shards()[0].admit(ahead, 64), ProtocolError);
  CHECK(job.bring(1, 0) == Outcome::kIterationComplete);
  CHECK(job.shards()[0].admit(ahead, 64) == Admission::kAccepted);
}

TEST_CASE("the ranks of an iteration must agree on the learning rate") {
  ShardJob job({});
  job.reconfigure(1, {1, 1});
  job.bring(0, 0, 0.1);

  CHECK_THROWS_AS(job.bring(0, 1, 0.2), ProtocolError);
  CHECK_THROWS_AS(job.bring(0, 1, std::nan("")), ProtocolError);
  CHECK(job.bring(0, 1, 0.1) == Outcome::kChunkComplete);
}

TEST_CASE("a learning rate that is no number is refused from the first rank on") {
  ShardJob job({});
  job.reconfigure(1, {1});

  CHECK_THROWS_AS(job.bring(0, 0, std::nan("")), ProtocolError);
  CHECK_THROWS_AS(job.bring(0, 0, std::numeric_limits<double>::infinity()), ProtocolError);
  CHECK(job.bring(0, 0, 0.1) == Outcome::kChunkComplete);
}

TEST_CASE("at a boundary the workers and their shares change, and the sum follows") {
  ShardJob job({});
  job.reconfigure(1, {1, 1});
  job.iterate(0);

  job.reconfigure(2, {2, 3, 5});
  job.iterate(1);

  CHECK(job.shards()[0].ranks() == 3);
  CHECK(job.shards()[0].iteration() == 2);
  const auto norms = job.sqr_norms();
  double weighted = 0.0;
  for (std::size_t k = 0; k < 3; ++k) weighted += norms[k] * std::vector{0.2, 0.3, 0.5}[k];
  CHECK(norms[3] > 0.0);
  CHECK(norms[3] < weighted);  // Jensen: |sum of shares x g_k|^2 <= sum of shares x |g_k|^2
}

TEST_CASE("a membership epoch that is not later, or without samples, is refused") {
  ShardJob job({});
  job.reconfigure(5, {1, 1});

  CHECK_THROWS_AS(job.reconfigure(5, {1}), ProtocolError);
  CHECK_THROWS_AS(job.reconfigure(4, {1}), ProtocolError);
  CHECK_THROWS_AS(job.reconfigure(6, {0, 0}), ProtocolError);
  CHECK(job.shards()[0].ranks() == 2);
}

TEST_CASE("when a worker is lost in mid-iteration, the others repeat it from its start") {
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    ShardJob job({.shard_count = 2}), undisturbed({.shard_count = 2});
    for (ShardJob* each : {&job, &undisturbed}) {
      each->reconfigure(1, {1, 1, 1});
      each->iterate(0);
    }
    scavenger::RandomStream random(8, "loss", {trial});
    const std::uint32_t messages = job.layout().chunk_count() * 3;
    const auto order = scavenger::permutation(random, messages);
    for (std::uint32_t i = 0; i < random.below(messages); ++i)  // all but, at most, the last
      job.bring(order[i] / 3, order[i] % 3);

    job.reconfigure(2, {1, 2});
    undisturbed.reconfigure(2, {1, 2});

    CHECK(job.weights() == undisturbed.weights());
    CHECK(job.state() == undisturbed.state());
    for (ShardJob* each : {&job, &undisturbed}) each->iterate(trial);
    CHECK(job.weights() == undisturbed.weights());
    CHECK(job.sqr_norms() == undisturbed.sqr_norms());
  }
}

TEST_CASE("a shard that was done with the iteration that others repeat goes back by one, not two") {
  ShardJob job({});
  job.reconfigure(1, {1, 1});
  job.iterate(0);
  const auto weights = job.weights(), momentum = job.state();
  job.iterate(1);
  ParameterShard& shard = job.shards()[0];
  std::vector<FloatBuffer> gradients;
  gradients.emplace_back(job.layout().flat_size());
  const Membership alone{.epoch = 2, .local_batch_sizes = {2}, .gradients = {gradients[0].span()}};
  Membership later = alone;
  later.epoch = 3;

  CHECK_THROWS_AS(shard.reconfigure(alone, 0), ProtocolError);
  shard.reconfigure(alone, 1);

  CHECK(shard.progress() == ShardProgress{.iteration = 1, .optimizer_steps = 1});
  CHECK(job.weights() == weights);
  CHECK(job.state() == momentum);
  CHECK_THROWS_AS(shard.reconfigure(later, 0), ProtocolError);
}

TEST_CASE("a shard goes on from a checkpoint's state with the same bits") {
  const ShardJob::Options options{.optimizer = {.type = OptimizerType::kAdam, .schedule = {}}};
  ShardJob job(options);
  job.reconfigure(1, {1, 2});
  for (std::uint64_t i = 0; i < 3; ++i) job.iterate(i);

  ParameterShard restored(job.layout(), 0, options.optimizer);
  restored.start(job.shards()[0].progress());
  for (const std::uint32_t chunk : restored.chunks()) {
    restored.load_weights(chunk, job.shards()[0].weights(chunk));
    for (std::size_t s = 0; s < 2; ++s) {
      restored.load_state(s, chunk, job.shards()[0].state(s, chunk));
    }
  }
  std::vector<FloatBuffer> gradients;
  Membership membership{.epoch = 9, .local_batch_sizes = {1, 2}, .gradients = {}};
  for (std::uint32_t k = 0; k < 2; ++k) gradients.emplace_back(job.layout().flat_size());
  for (FloatBuffer& gradient : gradients) membership.gradients.push_back(gradient.span());
  restored.reconfigure(membership, 3);

  for (const std::uint32_t chunk : restored.chunks()) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ChunkStamp stamp = job.stamp(chunk, rank);
      stamp.membership_epoch = 9;
      job.bring(chunk, rank);
      std::ranges::copy(job.shards()[0].gradient(rank, chunk),
                        restored.gradient(rank, chunk).begin());
      restored.contribute(stamp, 0.1);
    }
  }

  CHECK(restored.progress() == ShardProgress{.iteration = 4, .optimizer_steps = 4});
  for (const std::uint32_t chunk : restored.chunks()) {
    CHECK(std::ranges::equal(restored.weights(chunk), job.shards()[0].weights(chunk)));
    CHECK(std::ranges::equal(restored.state(1, chunk), job.shards()[0].state(1, chunk)));
  }
}

TEST_CASE("loading a wrong size, a wrong chunk, or too late is refused") {
  const ChunkLayout layout(128, 256, 2);
  const OptimizerConfig config{.momentum = 0.9, .schedule = {}};
  ParameterShard shard(layout, 0, config);
  const std::vector<float> chunk(64);
  FloatBuffer gradient(layout.packed_size(0));

  CHECK_THROWS_AS(shard.load_weights(0, chunk), ProtocolError);
  shard.start({});
  CHECK_THROWS_AS(shard.load_weights(0, std::span(chunk).first(63)), ProtocolError);
  CHECK_THROWS_AS(shard.load_weights(1, chunk), ProtocolError);
  CHECK_THROWS_AS(shard.load_weights(2, chunk), ProtocolError);
  CHECK_THROWS_AS(shard.load_state(1, 0, chunk), ProtocolError);
  CHECK_THROWS_AS(shard.admit({}, 64), ProtocolError);
  shard.load_weights(0, chunk);
  shard.reconfigure({.epoch = 1, .local_batch_sizes = {1}, .gradients = {gradient.span()}}, 0);
  CHECK_THROWS_AS(shard.load_weights(0, chunk), ProtocolError);
}
