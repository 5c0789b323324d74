#include "ps/core/reduction.h"

#include <algorithm>
#include <numeric>

#include "ps/core/flush_denormals.h"
#include "runtime/base/check.h"

namespace scavenger::ps {
namespace {

// 8 KiB, so that the sum and the data of the step fit into a first-level cache of 32 KiB. A
// multiple of kLanes.
constexpr std::size_t kBlockFloats = 2048;

double total(const double* lanes) {
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

}  // namespace

std::vector<float> batch_shares(std::span<const std::uint32_t> local_batch_sizes) {
  std::uint64_t global_batch_size = 0;
  for (const std::uint32_t size : local_batch_sizes) global_batch_size += size;
  SCAVENGER_CHECK(global_batch_size > 0);
  std::vector<float> shares;
  for (const std::uint32_t size : local_batch_sizes) {
    shares.push_back(static_cast<float>(size / static_cast<double>(global_batch_size)));
  }
  return shares;
}

ChunkReducer::ChunkReducer(const Kernels& kernels) : kernels_(kernels), sum_(kBlockFloats) {}

double ChunkReducer::update(std::span<const Contribution> contributions, const OptimizerStep& step,
                            const Version& from, const Version& to,
                            std::span<double> rank_sqr_norms, bool streaming) {
  const std::size_t ranks = contributions.size();
  const bool with_norms = !rank_sqr_norms.empty();
  SCAVENGER_CHECK(ranks > 0 && (!with_norms || rank_sqr_norms.size() == ranks));
  const FlushDenormals flush;
  lanes_.assign((ranks + 1) * kLanes, 0.0);
  // A single contribution with share 1 is the sum.
  const bool alone = ranks == 1 && contributions[0].share == 1.0F;
  double* sum_lanes = with_norms ? &lanes_[ranks * kLanes] : nullptr;
  for (std::size_t first = 0; first < to.weights.size(); first += kBlockFloats) {
    const std::size_t n = std::min(kBlockFloats, to.weights.size() - first);
    const float* sum = alone ? contributions[0].gradient + first : sum_.span().data();
    if (!alone) sum_block(contributions, first, n, sum_.span().data(), with_norms);
    step.apply({sum, n}, from.part(first, n), to.part(first, n), kernels_, sum_lanes, streaming);
  }
  if (!with_norms) return 0.0;
  const double sqr_norm = total(sum_lanes);
  for (std::size_t k = 0; k < ranks; ++k) {
    rank_sqr_norms[k] = alone ? sqr_norm : total(&lanes_[k * kLanes]);
  }
  return sqr_norm;
}

void ChunkReducer::sum(std::span<const Contribution> contributions, std::span<float> sum,
                       std::span<double> rank_sqr_norms) {
  sum_chunk(contributions, sum, rank_sqr_norms, false);
}

double ChunkReducer::sum_with_norm(std::span<const Contribution> contributions,
                                   std::span<float> sum, std::span<double> rank_sqr_norms) {
  sum_chunk(contributions, sum, rank_sqr_norms, true);
  return total(&lanes_[contributions.size() * kLanes]);
}

void ChunkReducer::sum_chunk(std::span<const Contribution> contributions, std::span<float> sum,
                             std::span<double> rank_sqr_norms, bool with_sum_norm) {
  const std::size_t ranks = contributions.size();
  SCAVENGER_CHECK(ranks > 0 && rank_sqr_norms.size() == ranks);
  const FlushDenormals flush;
  lanes_.assign((ranks + 1) * kLanes, 0.0);
  for (std::size_t first = 0; first < sum.size(); first += kBlockFloats) {
    const std::size_t n = std::min(kBlockFloats, sum.size() - first);
    float* block = sum.data() + first;
    sum_block(contributions, first, n, block, true);
    // Adds the squares of the sum while it is in the cache, as those of a single part with share 1.
    if (with_sum_norm)
      kernels_.sum({.gradients = {block},
                    .shares = {1.0F},
                    .ranks = 1,
                    .n = n,
                    .sum = block,
                    .lanes = &lanes_[ranks * kLanes]});
  }
  for (std::size_t k = 0; k < ranks; ++k) rank_sqr_norms[k] = total(&lanes_[k * kLanes]);
}

void ChunkReducer::sum_block(std::span<const Contribution> contributions, std::size_t first,
                             std::size_t n, float* sum, bool with_norms) {
  const std::size_t ranks = contributions.size();
  for (std::size_t rank = 0; rank < ranks; rank += kRanksPerPass) {
    SumBlock block{.ranks = std::min(kRanksPerPass, ranks - rank),
                   .continued = rank > 0,
                   .n = n,
                   .sum = sum,
                   .lanes = with_norms ? &lanes_[rank * kLanes] : nullptr};
    for (std::size_t k = 0; k < block.ranks; ++k) {
      block.gradients[k] = contributions[rank + k].gradient + first;
      block.shares[k] = contributions[rank + k].share;
    }
    kernels_.sum(block);
  }
}

double sum_in_chunk_order(std::span<const double> chunk_sqr_norms) {
  return std::accumulate(chunk_sqr_norms.begin(), chunk_sqr_norms.end(), 0.0);
}

}  // namespace scavenger::ps
