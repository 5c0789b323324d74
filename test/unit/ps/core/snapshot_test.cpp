#include <algorithm>
#include <catch2/catch.hpp>

#include "ps/core/shard_state.h"
#include "test/unit/ps/core/shard_job.h"

using namespace scavenger::ps;

namespace {

std::vector<float> to_vector(const FloatBuffer& buffer) {
  return {buffer.span().begin(), buffer.span().end()};
}

}  // namespace

TEST_CASE("a snapshot is the state of its boundary, however copying and training interleave") {
  for (std::uint64_t trial = 0; trial < 30; ++trial) {
    ShardJob job({});
    job.reconfigure(1, {1, 1});
    job.iterate(trial);
    ParameterShard& shard = job.shards()[0];
    const auto weights = job.weights(), momentum = job.state();
    scavenger::RandomStream random(5, "snapshot", {trial});

    shard.begin_snapshot();
    job.iterate(trial + 1);  // writes the other version: nothing has to be copied yet
    CHECK_FALSE(shard.snapshot_complete());
    for (const std::uint32_t i : scavenger::permutation(random, 2 * job.layout().chunk_count())) {
      job.bring(i / 2, i % 2);
      if (random.below(4) == 0) shard.copy_chunk_to_snapshot();
    }
    CHECK(shard.snapshot_complete());  // every chunk was written over, so every one was copied
    job.iterate(trial + 2);
    const ShardSnapshot snapshot = shard.take_snapshot();

    CHECK(snapshot.progress == ShardProgress{.iteration = 1, .optimizer_steps = 1});
    CHECK(to_vector(snapshot.weights) == weights);
    CHECK(to_vector(snapshot.state.at(0)) == momentum);
    CHECK(job.weights() != weights);
  }
}

TEST_CASE("a snapshot completes without training, chunk by chunk") {
  ShardJob job({});
  job.reconfigure(1, {1});
  job.iterate(0);
  ParameterShard& shard = job.shards()[0];

  shard.begin_snapshot();
  std::uint32_t calls = 1;
  while (shard.copy_chunk_to_snapshot()) {
    CHECK_FALSE(shard.snapshot_complete());
    ++calls;
  }

  CHECK(calls == job.layout().chunk_count());
  CHECK(to_vector(shard.take_snapshot().weights) == job.weights());
  CHECK_FALSE(shard.copy_chunk_to_snapshot());
}

TEST_CASE("a snapshot does not change the training") {
  ShardJob with({}), without({});
  for (ShardJob* job : {&with, &without}) job->reconfigure(1, {2, 3});

  for (std::uint64_t i = 0; i < 4; ++i) {
    with.shards()[0].begin_snapshot();
    with.iterate(i);
    while (with.shards()[0].copy_chunk_to_snapshot()) {
    }
    with.shards()[0].take_snapshot();
    without.iterate(i);
  }

  CHECK(with.weights() == without.weights());
}
