// Reduces one chunk in one pass: the weighted sum of K gradients, the squared norms, and the
// optimizer's step.
//
//   g = sum_k (b_k / B) g_k, added in rank order; |g_k|^2 for each k; |g|^2; step(weights, g)
//
// The pass proceeds in blocks that are small enough for the sum to stay in the first-level cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ps/core/float_buffer.h"
#include "ps/core/kernels.h"
#include "ps/core/optimizer.h"

namespace scavenger::ps {

// The part of one rank in the sum.
struct Contribution {
  const float* gradient = nullptr;  // floats, as many as the chunk has
  float share = 0.0F;               // b_k / B
};

// Returns b_k / B for each rank, rounded to float once. Requires a positive sum.
std::vector<float> batch_shares(std::span<const std::uint32_t> local_batch_sizes);

// Contains only scratch memory, so that results depend on the arguments alone. Thread: one at a
// time; make one for each thread.
class ChunkReducer final {
 public:
  explicit ChunkReducer(const Kernels& kernels = best_kernels());

  // Sums the contributions in the order given and steps `from` into `to`, which may be the same.
  // Writes each rank's |g_k|^2 to `rank_sqr_norms` and returns |g|^2. If `rank_sqr_norms` is empty,
  // computes no norms and returns 0. Requires at least one contribution, and versions that overlap
  // no gradient. `streaming`: see StepBlock.
  double update(std::span<const Contribution> contributions, const OptimizerStep& step,
                const Version& from, const Version& to, std::span<double> rank_sqr_norms,
                bool streaming = false);

  // Computes only the weighted sum, and each rank's |g_k|^2. `sum` may be the gradient of the first
  // contribution.
  void sum(std::span<const Contribution> contributions, std::span<float> sum,
           std::span<double> rank_sqr_norms);
  // The same, but also returns |g|^2. The results are bitwise those of update(). An update() with
  // the sum as its only contribution, and a clip_scale() as its share, then completes a clipped
  // update in two passes.
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

// Returns the squared norm of a whole gradient from those of its chunks. Adds them in the order of
// the chunks, so that the result is bitwise the same for every number of shards and order of
// arrival.
double sum_in_chunk_order(std::span<const double> chunk_sqr_norms);

}  // namespace scavenger::ps
