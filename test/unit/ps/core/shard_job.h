// A whole job of parameter shards in one thread, for tests: any number of shards and workers, any
// order of arrival, gradients that depend on iteration and rank.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/core/shard_state.h"
#include "runtime/base/check.h"
#include "runtime/base/random.h"
#include "test/unit/ps/core/random_floats.h"

namespace scavenger::ps {

class ShardJob final {
 public:
  struct Options {
    std::uint64_t flat_size = 1000;
    std::uint64_t chunk_bytes = 256;
    std::uint32_t shard_count = 1;
    OptimizerConfig optimizer = {.momentum = 0.9, .weight_decay = 1e-3, .schedule = {}};
  };

  explicit ShardJob(const Options& options)
      : layout_(options.flat_size, options.chunk_bytes, options.shard_count) {
    const auto initial = random_floats(options.flat_size, 99);
    for (std::uint32_t s = 0; s < options.shard_count; ++s) {
      shards_.emplace_back(layout_, s, options.optimizer);
      shards_[s].start({});
      for (const std::uint32_t chunk : shards_[s].chunks()) {
        const ChunkRange range = layout_.range(chunk);
        shards_[s].load_weights(chunk, std::span(initial).subspan(range.first, range.size));
      }
    }
  }

  // Rank k brings batch_sizes[k] samples from now on; all shards go on from the least iteration.
  void reconfigure(std::uint64_t epoch, std::vector<std::uint32_t> batch_sizes) {
    epoch_ = epoch;
    gradients_.clear();
    std::uint64_t iteration = shards_[0].iteration();
    for (const ParameterShard& shard : shards_) iteration = std::min(iteration, shard.iteration());
    for (ParameterShard& shard : shards_) {
      Membership membership{.epoch = epoch, .local_batch_sizes = batch_sizes, .gradients = {}};
      for (std::size_t k = 0; k < batch_sizes.size(); ++k) {
        gradients_.emplace_back(layout_.packed_size(shard.shard()));
        membership.gradients.push_back(gradients_.back().span());
      }
      shard.reconfigure(membership, iteration);
    }
  }

  std::vector<ParameterShard>& shards() { return shards_; }
  const ChunkLayout& layout() const { return layout_; }
  std::uint64_t epoch() const { return epoch_; }

  ChunkStamp stamp(std::uint32_t chunk, std::uint32_t rank) const {
    return {.membership_epoch = epoch_,
            .iteration = shards_[layout_.shard_of(chunk)].iteration(),
            .chunk = chunk,
            .rank = rank};
  }

  // What a rank brings in an iteration, as a flat vector.
  static std::vector<float> gradient(std::uint64_t size, std::uint64_t iteration,
                                     std::uint32_t rank) {
    return random_floats(size, iteration * 100 + rank);
  }

  // One rank's gradient of one chunk arrives.
  Outcome bring(std::uint32_t chunk, std::uint32_t rank, double learning_rate = 0.1) {
    ParameterShard& shard = shards_[layout_.shard_of(chunk)];
    const ChunkRange range = layout_.range(chunk);
    const auto values = gradient(layout_.flat_size(), shard.iteration(), rank);
    std::ranges::copy(std::span(values).subspan(range.first, range.size),
                      shard.gradient(rank, chunk).begin());
    return shard.contribute(stamp(chunk, rank), learning_rate);
  }

  // A whole iteration; messages arrive in an order that depends on order_key only.
  void iterate(std::uint64_t order_key) {
    const std::uint32_t ranks = shards_[0].ranks();
    RandomStream random(3, "arrival", {order_key});
    for (const std::uint32_t i : permutation(random, layout_.chunk_count() * ranks)) {
      bring(i / ranks, i % ranks);
    }
  }

  // The same where the optimizer clips; returns the norm of the gradient.
  double iterate_clipped(std::uint64_t order_key) {
    const std::uint64_t iteration = shards_[0].iteration();
    iterate(order_key);
    std::vector<double> norms(layout_.chunk_count());
    for (const ParameterShard& shard : shards_) {
      const std::vector<double> of_shard = shard.summed_sqr_norms();
      for (std::size_t i = 0; i < of_shard.size(); ++i) norms[shard.chunks()[i]] = of_shard[i];
    }
    const double sqr_norm = sum_in_chunk_order(norms);
    for (ParameterShard& shard : shards_)
      SCAVENGER_CHECK(shard.step_clipped(epoch_, iteration, sqr_norm) ==
                      Outcome::kIterationComplete);
    return std::sqrt(sqr_norm);
  }

  std::vector<float> weights() const { return flat(0); }
  std::vector<float> state() const { return flat(1); }

  // |g_k|^2 for each k, then |g|^2, of the last iteration.
  std::vector<double> sqr_norms() const {
    const std::uint32_t ranks = shards_[0].ranks();
    std::vector<double> result;
    for (std::uint32_t k = 0; k <= ranks; ++k) {
      std::vector<double> of_chunks;
      for (std::uint32_t chunk = 0; chunk < layout_.chunk_count(); ++chunk) {
        const ChunkNorms norms = shards_[layout_.shard_of(chunk)].norms(chunk);
        of_chunks.push_back(k < ranks ? norms.rank_sqr_norms[k] : norms.sqr_norm);
      }
      result.push_back(sum_in_chunk_order(of_chunks));
    }
    return result;
  }

 private:
  std::vector<float> flat(int vector) const {
    std::vector<float> all;
    for (std::uint32_t chunk = 0; chunk < layout_.chunk_count(); ++chunk) {
      const ParameterShard& shard = shards_[layout_.shard_of(chunk)];
      const auto part = vector == 0 ? shard.weights(chunk) : shard.state(0, chunk);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  ChunkLayout layout_;
  std::uint64_t epoch_ = 0;
  std::vector<FloatBuffer> gradients_;
  std::vector<ParameterShard> shards_;
};

}  // namespace scavenger::ps
