#include "ps/core/reduction.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"

namespace scavenger::ps {
namespace {

// 8 KiB: the sum, and what the step reads and writes with it, fit into a first-level cache of 32
// KiB. A multiple of kLanes.
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
                            std::span<float> weights, const StateSpans& state,
                            std::span<double> rank_sqr_norms) {
  const std::size_t ranks = contributions.size();
  const bool with_norms = !rank_sqr_norms.empty();
  SCAVENGER_CHECK(ranks > 0 && (!with_norms || rank_sqr_norms.size() == ranks));
  lanes_.assign((ranks + 1) * kLanes, 0.0);
  for (std::size_t first = 0; first < weights.size(); first += kBlockFloats) {
    const std::size_t n = std::min(kBlockFloats, weights.size() - first);
    const float* sum = sum_block(contributions, first, n, with_norms);
    StateSpans block_state;
    for (std::size_t s = 0; s < state.size(); ++s) {
      if (!state[s].empty()) block_state[s] = state[s].subspan(first, n);
    }
    step.apply({sum, n}, weights.subspan(first, n), block_state, kernels_);
  }
  if (!with_norms) return 0.0;
  for (std::size_t k = 0; k < ranks; ++k) rank_sqr_norms[k] = total(&lanes_[k * kLanes]);
  return total(&lanes_[ranks * kLanes]);
}

const float* ChunkReducer::sum_block(std::span<const Contribution> contributions, std::size_t first,
                                     std::size_t n, bool with_norms) {
  float* sum = sum_.span().data();
  for (std::size_t k = 0; k < contributions.size(); ++k) {
    const auto scale = k == 0 ? kernels_.set_scaled : kernels_.add_scaled;
    scale(contributions[k].gradient + first, contributions[k].share, n, sum,
          with_norms ? &lanes_[k * kLanes] : nullptr);
  }
  if (with_norms) kernels_.add_squares(sum, n, &lanes_[contributions.size() * kLanes]);
  return sum;
}

double sum_in_chunk_order(std::span<const double> chunk_sqr_norms) {
  return std::accumulate(chunk_sqr_norms.begin(), chunk_sqr_norms.end(), 0.0);
}

}  // namespace scavenger::ps
