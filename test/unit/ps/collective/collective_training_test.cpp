#include <catch2/catch.hpp>
#include <numeric>

#include "test/unit/ps/collective/collective_job.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

const std::vector<std::vector<std::uint32_t>> kBatchSizes = {{4}, {3, 5}, {3, 8, 5}, {1, 2, 3, 4}};

OptimizerConfig adamw() {
  return {.type = OptimizerType::kAdamW, .weight_decay = 1e-2, .schedule = {}};
}

}  // namespace

TEST_CASE("all-reduce in rank order has the parameter server's bits, norms included") {
  const auto batch_sizes = GENERATE(from_range(kBatchSizes));
  const bool is_adam = GENERATE(false, true);
  const double clip_norm = GENERATE(0.0, 0.05);
  ShardJob::Options options;
  if (is_adam) options.optimizer = adamw();
  options.optimizer.clip_norm = clip_norm;
  const std::size_t workers = batch_sizes.size();
  const bool is_like_device = GENERATE(false, true);
  CAPTURE(workers, is_adam, clip_norm, is_like_device);
  ShardJob server(options);
  CollectiveJob job(options, is_like_device);
  for (std::size_t i = 0; i < workers; ++i) job.add_worker();
  server.reconfigure(1, batch_sizes);

  REQUIRE(job.reconfigure(batch_sizes));
  for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
    REQUIRE(job.train_until(iteration + 1));
    if (clip_norm > 0.0)
      CHECK(server.iterate_clipped(iteration) > clip_norm);
    else
      server.iterate(iteration);

    for (std::size_t i = 0; i < workers; ++i) {
      CHECK(job.weights(i) == server.weights());
      const SyncResult& result = job.member(i).results[iteration];
      CHECK(result.local_gradient_sqr_norm == server.sqr_norms()[i]);
      CHECK(result.global_gradient_sqr_norm == server.sqr_norms().back());
    }
  }
}

TEST_CASE("a change of workers hands the state to the newcomer, at the same steps") {
  CollectiveJob job({});
  ShardJob server({});
  job.add_worker();
  job.add_worker();
  REQUIRE(job.reconfigure({1, 1}));
  REQUIRE(job.train_until(3));
  job.add_worker();
  REQUIRE(job.reconfigure({2, 1, 1}));
  REQUIRE(job.train_until(5));
  job.lose_worker(0);
  REQUIRE(job.reconfigure({1, 1}));
  REQUIRE(job.train_until(7));

  server.reconfigure(1, {1, 1});
  for (std::uint64_t i = 0; i < 3; ++i) server.iterate(i);
  server.reconfigure(2, {2, 1, 1});
  for (std::uint64_t i = 3; i < 5; ++i) server.iterate(i);
  server.reconfigure(3, {1, 1});
  for (std::uint64_t i = 5; i < 7; ++i) server.iterate(i);
  for (std::size_t i = 0; i < 2; ++i) CHECK(job.weights(i) == server.weights());
}

TEST_CASE("a snapshot is of its boundary, while training goes on, and loads into another job") {
  const ShardJob::Options options{.flat_size = 100'000, .chunk_bytes = 4096, .optimizer = adamw()};
  CollectiveJob job(options);
  job.add_worker();
  job.add_worker();
  REQUIRE(job.reconfigure({1, 1}));
  REQUIRE(job.train_until(2));
  const auto boundary = job.weights(0);
  CHECK(job.worker(0).begin_snapshot(2) == 2);
  REQUIRE(job.train_until(5));

  CollectiveJob other(options);
  other.add_worker();
  other.add_worker();
  REQUIRE(job.member(0).snapshots.size() == 1);
  const ShardSnapshot& snapshot = *job.member(0).snapshots[0];
  CHECK(std::ranges::equal(snapshot.weights.span(), boundary));
  CHECK(snapshot.progress == ShardProgress{2, 2});
  other.worker(0).begin_load(2);
  for (std::uint32_t vector = 0; vector < 3; ++vector)
    for (std::uint32_t chunk = 0; chunk < job.layout().chunk_count(); ++chunk) {
      const ChunkRange range = job.layout().range(chunk);
      const auto all = vector == 0 ? snapshot.weights.span() : snapshot.state[vector - 1].span();
      const bool last = vector == 2 && chunk + 1 == job.layout().chunk_count();
      const auto part = all.subspan(range.first, range.size);
      CHECK(other.worker(0).held_iteration() == std::nullopt);
      CHECK(other.worker(0).load(vector, chunk, std::as_bytes(part)) == last);
    }
  REQUIRE(other.reconfigure({1, 1}));
  REQUIRE(other.train_until(5));
  for (std::size_t i = 0; i < 2; ++i) CHECK(other.weights(i) == job.weights(0));
}

TEST_CASE("state that does not fit, and snapshots of what is not there, are refused") {
  CollectiveJob job({});
  job.add_worker();
  const std::vector<std::byte> chunk(256), too_much(260);
  CHECK_THROWS_AS(job.worker(0).load(0, 0, chunk), ProtocolError);  // none is expected
  CHECK_THROWS_AS(job.worker(0).begin_snapshot(0), ProtocolError);

  job.worker(0).begin_load(3);

  CHECK_THROWS_AS(job.worker(0).load(2, 0, chunk), ProtocolError);
  CHECK_THROWS_AS(job.worker(0).load(0, 1000, chunk), ProtocolError);
  CHECK_THROWS_AS(job.worker(0).load(0, 0, too_much), ProtocolError);
  CHECK_FALSE(job.worker(0).load(0, 0, chunk));
  CHECK(job.worker(0).held_iteration() == std::nullopt);
}
