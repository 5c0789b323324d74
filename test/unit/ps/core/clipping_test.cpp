#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/training/clip_scale.h"
#include "test/unit/ps/core/shard_job.h"

namespace scavenger::ps {
namespace {

constexpr double kClipNorm = 3.0;

ShardJob::Options options(std::uint32_t shards, double clip_norm) {
  ShardJob::Options options{.shard_count = shards};
  options.optimizer.clip_norm = clip_norm;
  return options;
}

std::vector<float> random_part(std::uint64_t key) {
  return random_floats(5000, key);
}

TEST_CASE("The scale is that of torch.nn.utils.clip_grad_norm_") {
  CHECK(clip_scale(16.0, 2.0) == static_cast<float>(2.0 / (4.0 + 1e-6)));
  CHECK(clip_scale(1.0, 2.0) == 1.0F);
  CHECK(clip_scale(0.0, 2.0) == 1.0F);
  CHECK(clip_scale(INFINITY, 2.0) == 1.0F);
  CHECK(clip_scale(NAN, 2.0) == 1.0F);
}

TEST_CASE("The sum in two passes has the norms of the update in one, bit for bit") {
  const std::vector<std::vector<float>> gradients = {random_part(1), random_part(2), random_part(3),
                                                     random_part(4), random_part(5)};
  const std::vector<std::uint32_t> sizes = {1, 2, 3, 4, 5};
  const std::vector<float> shares = batch_shares(sizes);
  std::vector<Contribution> contributions;
  for (std::size_t k = 0; k < gradients.size(); ++k)
    contributions.push_back({gradients[k].data(), shares[k]});
  const Optimizer optimizer({.schedule = {}});
  std::vector<float> weights(5000, 1.0F), two_passes = weights, sum = gradients[0];
  std::vector<double> norms(5), norms_of_sum(5);
  ChunkReducer reducer;

  const double sqr_norm =
      reducer.update(contributions, optimizer.step(0.1, 1), {weights, {}}, {weights, {}}, norms);
  contributions[0].gradient = sum.data();  // in place
  const double sqr_norm_of_sum = reducer.sum_with_norm(contributions, sum, norms_of_sum);
  const Contribution whole{sum.data(), 1.0F};
  reducer.update({&whole, 1}, optimizer.step(0.1, 1), {two_passes, {}}, {two_passes, {}}, {});

  CHECK(sqr_norm_of_sum == sqr_norm);
  CHECK(norms_of_sum == norms);
  CHECK(two_passes == weights);
}

TEST_CASE("A limit that is never reached changes no bit") {
  ShardJob plain(options(1, 0.0)), clipped(options(1, 1e9));
  plain.reconfigure(1, {3, 5});
  clipped.reconfigure(1, {3, 5});

  for (std::uint64_t i = 0; i < 3; ++i) {
    plain.iterate(i);
    clipped.iterate_clipped(i + 7);
  }

  CHECK(clipped.weights() == plain.weights());
  CHECK(clipped.state() == plain.state());
  CHECK(clipped.sqr_norms() == plain.sqr_norms());
}

TEST_CASE("Clipped weights do not depend on the number of shards or the order of arrival") {
  ShardJob one(options(1, kClipNorm)), three(options(3, kClipNorm)), plain(options(1, 0.0));
  for (ShardJob* job : {&one, &three, &plain}) job->reconfigure(1, {3, 5});
  for (std::uint64_t i = 0; i < 4; ++i) {
    CHECK(one.iterate_clipped(i) > kClipNorm);
    three.iterate_clipped(i + 9);
    plain.iterate(i);
  }

  CHECK(one.weights() == three.weights());
  CHECK(one.state() == three.state());
  CHECK_FALSE(one.weights() == plain.weights());
}

TEST_CASE("A clipped step is a step with the gradient scaled to the limit") {
  ShardJob::Options one_worker = options(1, kClipNorm);
  one_worker.optimizer = {.clip_norm = kClipNorm, .schedule = {}};  // w -= rate g
  ShardJob job(one_worker);
  job.reconfigure(1, {4});
  const std::vector<float> before = job.weights();

  job.iterate_clipped(0);

  double sqr_step = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i)
    sqr_step += std::pow(static_cast<double>(job.weights()[i]) - before[i], 2);
  CHECK(std::sqrt(sqr_step) == Approx(0.1 * kClipNorm).epsilon(1e-4));
}

TEST_CASE("A step before all is summed is refused, and a late one changes nothing") {
  ShardJob job(options(1, kClipNorm));
  job.reconfigure(1, {4});
  ParameterShard& shard = job.shards()[0];
  job.bring(0, 0);

  CHECK_THROWS_AS(shard.step_clipped(1, 0, 1.0), ProtocolError);
  CHECK_THROWS_AS(shard.step_clipped(2, 0, 1.0), ProtocolError);
  job.reconfigure(2, {4});  // begins the iteration anew
  job.iterate_clipped(0);
  const std::vector<float> weights = job.weights();
  CHECK(shard.step_clipped(2, 0, 1.0) == Outcome::kStale);
  CHECK(shard.step_clipped(1, 1, 1.0) == Outcome::kStale);
  CHECK(job.weights() == weights);
}

TEST_CASE("A clipped iteration can be undone, and a snapshot keeps the one before") {
  ShardJob job(options(1, kClipNorm)), again(options(1, kClipNorm));
  for (ShardJob* each : {&job, &again}) each->reconfigure(1, {3, 5});
  job.iterate_clipped(0);
  again.iterate_clipped(0);
  ParameterShard& shard = job.shards()[0];
  const std::vector<float> boundary = job.weights();
  shard.begin_snapshot();
  job.iterate_clipped(1);
  job.iterate_clipped(2);
  while (shard.copy_chunk_to_snapshot()) {
  }
  const ShardSnapshot snapshot = shard.take_snapshot();

  CHECK(std::ranges::equal(snapshot.weights.span(), boundary));
}

}  // namespace
}  // namespace scavenger::ps
