// One chunk, one pass: the weighted sum of K gradients, the squared norms, and the optimizer's
// step.
//
//   g = sum_k (b_k / B) g_k, added in rank order; |g_k|^2 for each k; |g|^2; step(weights, g)
//
// The pass goes block by block, small enough that the sum never leaves the first-level cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ps/core/float_buffer.h"
#include "ps/core/kernels.h"
#include "ps/core/optimizer.h"

namespace scavenger::ps {

// One rank's part of the sum.
struct Contribution {
  const float* gradient = nullptr;  // as many floats as the chunk has
  float share = 0.0F;               // b_k / B
};

// b_k / B for each rank, rounded to float once. Requires a positive sum.
std::vector<float> batch_shares(std::span<const std::uint32_t> local_batch_sizes);

// Holds scratch memory only: results depend on the arguments alone. Thread: one at a time; make one
// for each thread.
class ChunkReducer final {
 public:
  explicit ChunkReducer(const Kernels& kernels = best_kernels());

  // Sums the contributions in the order given and steps `from` into `to`, which may be the same.
  // Writes each rank's |g_k|^2 to `rank_sqr_norms` and returns |g|^2; with an empty
  // `rank_sqr_norms` norms are not computed and 0 is returned. Requires at least one contribution,
  // and versions that overlap no gradient. `streaming`: see StepBlock.
  double update(std::span<const Contribution> contributions, const OptimizerStep& step,
                const Version& from, const Version& to, std::span<double> rank_sqr_norms,
                bool streaming = false);

  // Only the weighted sum, and each rank's |g_k|^2. `sum` may be the first contribution's gradient.
  void sum(std::span<const Contribution> contributions, std::span<float> sum,
           std::span<double> rank_sqr_norms);
  // The same, and returns |g|^2: all bits as those of update(). Stepping the sum, as the only
  // contribution, with a clip_scale() for its share then is a clipped update in two passes.
  double sum_with_norm(std::span<const Contribution> contributions, std::span<float> sum,
                       std::span<double> rank_sqr_norms);

 private:
  void sum_chunk(std::span<const Contribution> contributions, std::span<float> sum,
                 std::span<double> rank_sqr_norms, bool with_sum_norm);
  void sum_block(std::span<const Contribution> contributions, std::size_t first, std::size_t n,
                 float* sum, bool with_norms);

  const Kernels& kernels_;
  FloatBuffer sum_;
  std::vector<double> lanes_;  // kLanes for each rank, and kLanes for the sum
};

// The squared norm of a whole gradient from those of its chunks, in the order of the chunks: the
// same bits for every number of shards and order of arrival.
double sum_in_chunk_order(std::span<const double> chunk_sqr_norms);

}  // namespace scavenger::ps
