#include "elastic/coordinator/checkpoints/checkpoint_collector.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

constexpr std::uint64_t kIteration = 42;

// 100 floats in chunks of 32: the last has 4.
const ps::ChunkLayout kLayout(100, 128, 2);

CheckpointCollector make_collector() {
  Checkpoint base;
  base.iteration = kIteration;
  base.position = 1234;
  base.buffers.add("mean", {2});
  return {std::move(base), kLayout, {"exp_avg", "exp_avg_sq"}};
}

FrameHeader piece(std::uint32_t vector, std::uint32_t chunk) {
  return {.type = FrameType::kState,
          .chunk = chunk,
          .iteration = kIteration,
          .rank = vector,
          .payload_bytes = static_cast<std::uint32_t>(kLayout.range(chunk).size * sizeof(float))};
}

float value_at(std::uint32_t vector, std::uint64_t place) {
  return static_cast<float>(1000 * vector + place);
}

void bring(CheckpointCollector& collector, std::uint32_t vector, std::uint32_t chunk) {
  const ps::ChunkRange range = kLayout.range(chunk);
  std::vector<float> floats(range.size);
  for (std::uint64_t i = 0; i < range.size; ++i) floats[i] = value_at(vector, range.first + i);
  const auto destination = collector.destination(kLayout.shard_of(chunk), piece(vector, chunk));
  REQUIRE(destination.size() == floats.size() * sizeof(float));
  std::memcpy(destination.data(), floats.data(), destination.size());
  collector.arrived(piece(vector, chunk));
}

}  // namespace

TEST_CASE("a checkpoint is complete with the last piece of weights and optimizer state") {
  CheckpointCollector collector = make_collector();
  for (std::uint32_t vector = 3; vector-- > 0;)
    for (const std::uint32_t chunk : {2U, 0U, 3U, 1U}) {
      CHECK_FALSE(collector.complete());
      bring(collector, vector, chunk);
    }
  collector.set_optimizer_steps(40);
  collector.set_buffers(std::vector<float>(kTensorAlignment, 2.0F));

  REQUIRE(collector.complete());
  const Checkpoint& checkpoint = collector.checkpoint();
  CHECK(checkpoint.iteration == kIteration);
  CHECK(checkpoint.position == 1234);
  CHECK(checkpoint.optimizer.step_count == 40);
  CHECK(checkpoint.buffer_values == std::vector<float>(kTensorAlignment, 2.0F));
  for (std::uint64_t i = 0; i < 100; ++i) {
    CHECK(checkpoint.weights[i] == value_at(0, i));
    CHECK(checkpoint.optimizer.slots.at("exp_avg")[i] == value_at(1, i));
    CHECK(checkpoint.optimizer.slots.at("exp_avg_sq")[i] == value_at(2, i));
  }
}

TEST_CASE("a piece that comes twice is refused: the first may be on its way to disk") {
  CheckpointCollector collector = make_collector();
  bring(collector, 0, 1);

  CHECK_THROWS_AS(collector.destination(1, piece(0, 1)), ProtocolError);
  CHECK_NOTHROW(collector.destination(1, piece(1, 1)));
  CHECK_FALSE(collector.complete());
}

TEST_CASE("a piece of another shard, or buffers of another model, are refused") {
  CheckpointCollector collector = make_collector();

  CHECK_THROWS_AS(collector.destination(0, piece(0, 1)), ProtocolError);
  CHECK_THROWS_AS(collector.destination(7, piece(0, 1)), ProtocolError);
  CHECK_THROWS_AS(collector.set_buffers({}), ProtocolError);
  CHECK_THROWS_AS(collector.set_buffers({1.0F, 2.0F, 3.0F}), ProtocolError);
}

TEST_CASE("a piece that does not fit is refused before it is read") {
  CheckpointCollector collector = make_collector();
  FrameHeader of_unknown_vector = piece(0, 0), of_unknown_chunk = piece(0, 0);
  FrameHeader of_other_iteration = piece(0, 0), too_long = piece(0, 3), too_short = piece(0, 0);
  of_unknown_vector.rank = 3;
  of_unknown_chunk.chunk = 4;
  of_other_iteration.iteration = kIteration - 1;
  too_long.payload_bytes += 4;
  too_short.payload_bytes -= 1;

  for (const FrameHeader& wrong :
       {of_unknown_vector, of_unknown_chunk, of_other_iteration, too_long, too_short})
    CHECK_THROWS_AS(collector.destination(wrong.chunk % 2, wrong), ProtocolError);
}

TEST_CASE("what a lost shard has not sent is not waited for") {
  CheckpointCollector collector = make_collector();
  for (std::uint32_t vector = 0; vector < 3; ++vector)
    for (const std::uint32_t chunk : kLayout.chunks_of(1)) bring(collector, vector, chunk);
  CHECK(collector.misses_pieces_of(0));
  CHECK_FALSE(collector.misses_pieces_of(1));
  CHECK_FALSE(collector.complete());

  collector.give_up(0);

  CHECK(collector.complete());
}
