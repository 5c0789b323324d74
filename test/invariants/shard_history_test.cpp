// Invariants 2, 3 and 4 at the shards: bits depend on what was trained, and on nothing else. Not on
// the number of shards, the size of chunks, the order of arrival, what was begun and lost, and what
// came too late; and a membership begins at a boundary.
#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "test/unit/ps/core/shard_job.h"

using namespace scavenger;
using namespace scavenger::ps;

namespace {

// What is trained: so many iterations with these shares, then others.
struct Part {
  std::vector<std::uint32_t> shares;
  std::uint64_t iterations = 0;
};

struct History {
  ShardJob::Options options;
  std::vector<Part> parts;
};

History random_history(RandomStream& random) {
  History history;
  history.options.flat_size = 1 + random.below(300);
  const OptimizerConfig optimizers[] = {
      {.momentum = 0.9, .weight_decay = 1e-3, .schedule = {}},
      {.momentum = 0.9, .nesterov = true, .schedule = {}},
      {.type = OptimizerType::kAdam, .schedule = {}},
      {.type = OptimizerType::kAdamW, .weight_decay = 1e-2, .schedule = {}}};
  history.options.optimizer = optimizers[random.below(std::size(optimizers))];
  for (std::uint64_t parts = 1 + random.below(4); parts > 0; --parts) {
    Part part{.shares = {}, .iterations = random.below(4)};
    for (std::uint64_t workers = 1 + random.below(4); workers > 0; --workers)
      part.shares.push_back(static_cast<std::uint32_t>(1 + random.below(9)));
    history.parts.push_back(part);
  }
  return history;
}

struct Trained {
  std::vector<float> weights, state;
  bool operator==(const Trained&) const = default;
};

// One shard, one chunk, everything in order, nothing lost.
Trained train_in_order(const History& history) {
  ShardJob::Options options = history.options;
  options.chunk_bytes = 1 << 20;
  ShardJob job(options);
  std::uint64_t epoch = 0;
  for (const Part& part : history.parts) {
    job.reconfigure(++epoch, part.shares);
    for (std::uint64_t i = 0; i < part.iterations; ++i)
      for (std::uint32_t rank = 0; rank < part.shares.size(); ++rank) job.bring(0, rank);
  }
  return {job.weights(), job.state()};
}

// The same as it may come about.
class Adversity final {
 public:
  Adversity(const History& history, std::uint64_t seed)
      : random_(seed, "adversity"), job_(some_layout(history.options)) {}

  Trained train(const History& history) {
    for (const Part& part : history.parts) {
      begin(part.shares);
      for (std::uint64_t left = part.iterations; left > 0;) {
        if (random_.below(3) == 0) lose_in_the_middle(part.shares);
        iterate();
        // Shards may be done with an iteration that others have to repeat.
        if (random_.below(6) == 0)
          undo(part.shares);
        else
          --left;
      }
    }
    return {job_.weights(), job_.state()};
  }

 private:
  ShardJob::Options some_layout(ShardJob::Options options) {
    options.chunk_bytes = 64 * (1 + random_.below(8));
    const ChunkLayout layout(options.flat_size, options.chunk_bytes, 1);
    options.shard_count = static_cast<std::uint32_t>(1 + random_.below(layout.chunk_count()));
    return options;
  }

  void begin(const std::vector<std::uint32_t>& shares) {
    epoch_ += 1 + random_.below(3);
    job_.reconfigure(epoch_, shares);
    for (const ParameterShard& shard : job_.shards()) REQUIRE(shard.at_boundary());
  }

  void iterate() {
    const std::uint32_t ranks = job_.shards()[0].ranks();
    for (const std::uint32_t i : permutation(random_, job_.layout().chunk_count() * ranks)) {
      if (random_.below(4) == 0) say_something_stale(i / ranks);
      job_.bring(i / ranks, i % ranks);
    }
  }

  void lose_in_the_middle(const std::vector<std::uint32_t>& shares) {
    begin({1, 2, 3});  // others were there then
    const auto messages = permutation(random_, job_.layout().chunk_count() * 3);
    for (std::uint64_t i = 0, some = random_.below(messages.size()); i < some; ++i)
      job_.bring(messages[i] / 3, messages[i] % 3);
    begin(shares);
  }

  // All have finished this iteration but one shard, which lacks a gradient: the group repeats it.
  void undo(const std::vector<std::uint32_t>& shares) {
    const std::uint64_t done = job_.shards()[0].iteration();
    std::vector<FloatBuffer> gradients;
    epoch_ += 1;
    for (ParameterShard& shard : job_.shards()) {
      ps::Membership membership{.epoch = epoch_, .local_batch_sizes = shares, .gradients = {}};
      for (std::size_t k = 0; k < shares.size(); ++k) {
        gradients.emplace_back(job_.layout().packed_size(shard.shard()));
        membership.gradients.push_back(gradients.back().span());
      }
      shard.reconfigure(membership, done - 1);
    }
    begin(shares);  // with gradients of its own
  }

  void say_something_stale(std::uint32_t chunk) {
    ParameterShard& shard = job_.shards()[job_.layout().shard_of(chunk)];
    ChunkStamp stamp = job_.stamp(chunk, static_cast<std::uint32_t>(random_.below(5)));
    if (shard.iteration() > 0 && stamp.rank < shard.ranks() && random_.below(2) == 0)
      stamp.iteration = random_.below(shard.iteration());
    else
      stamp = {random_.below(epoch_), random_.bits(), chunk,
               static_cast<std::uint32_t>(random_.bits())};
    REQUIRE(shard.contribute(stamp, random_.uniform()) == Outcome::kStale);
  }

  RandomStream random_;
  ShardJob job_;
  std::uint64_t epoch_ = 0;
};

}  // namespace

TEST_CASE("the bits of a job are those of its iterations, however it is laid out and disturbed") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    RandomStream random(seed, "history");
    const History history = random_history(random);
    const Trained expected = train_in_order(history);

    for (std::uint64_t trial = 0; trial < 2; ++trial)
      REQUIRE(Adversity(history, 10 * seed + trial).train(history) == expected);
  }
}
