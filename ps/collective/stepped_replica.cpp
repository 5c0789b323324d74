#include "ps/collective/stepped_replica.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/training/clip_scale.h"

namespace scavenger::ps {

SteppedReplica::SteppedReplica(const ChunkLayout& layout, const OptimizerConfig& optimizer,
                               StepWhole step)
    : layout_(layout),
      clip_norm_(optimizer.clip_norm),
      step_whole_(std::move(step)),
      vectors_(1 + optimizer.state.size()),
      gradients_(layout_.flat_size()),
      local_sqr_norms_(layout_.chunk_count()),
      global_sqr_norms_(layout_.chunk_count()) {
  SCAVENGER_CHECK(layout_.shard_count() == 1);
  std::ranges::fill(gradients_.span(), 0.0F);
  for (auto& versions : vectors_)
    for (FloatBuffer& version : versions) {
      version = FloatBuffer(layout_.flat_size());
      std::ranges::fill(version.span(), 0.0F);
    }
}

std::uint32_t SteppedReplica::state_vectors() const {
  return static_cast<std::uint32_t>(vectors_.size() - 1);
}

std::span<float> SteppedReplica::vector(std::uint32_t index, std::uint64_t iteration) {
  SCAVENGER_CHECK(index < vectors_.size());
  return vectors_[index][iteration % 2].span();
}

void SteppedReplica::clear(std::uint64_t iteration) {
  for (std::uint32_t index = 0; index < vectors_.size(); ++index)
    std::ranges::fill(vector(index, iteration), 0.0F);
}

void SteppedReplica::load(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
                          std::span<const float> values) {
  std::ranges::copy(values, vector(index, iteration).subspan(first, values.size()).begin());
}

void SteppedReplica::save(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
                          std::span<float> values) {
  std::ranges::copy(vector(index, iteration).subspan(first, values.size()), values.begin());
}

// ---- An iteration. ----

template <typename Do>
void SteppedReplica::for_chunks(FlatRange range, const Do& what) const {
  for (std::uint64_t first = range.first; first < range.last();) {
    const std::uint32_t chunk = layout_.chunk_at(first);
    what(chunk, layout_.range(chunk));
    first = layout_.range(chunk).last();
  }
}

double SteppedReplica::scale(const ChunkRange& part, float factor) {
  const std::span<float> gradient = gradients_.span().subspan(part.first, part.size);
  const Contribution own{.gradient = gradient.data(), .share = factor};
  double sqr_norm = 0.0;
  reducer_.sum({&own, 1}, gradient, {&sqr_norm, 1});
  return sqr_norm;
}

void SteppedReplica::weight(FlatRange range, float share) {
  for_chunks(range, [&](std::uint32_t chunk, const ChunkRange& part) {
    local_sqr_norms_[chunk] = scale(part, share);
  });
}

void SteppedReplica::step(FlatRange range) {
  for_chunks(range, [&](std::uint32_t chunk, const ChunkRange& part) {
    global_sqr_norms_[chunk] = scale(part, 1.0F);
  });
}

GradientNorms SteppedReplica::finish() {
  const double global_sqr_norm = sum_in_chunk_order(global_sqr_norms_);
  if (clip_norm_ > 0.0) {
    const float factor = clip_scale(global_sqr_norm, clip_norm_);
    for_chunks({0, layout_.flat_size()},
               [&](std::uint32_t, const ChunkRange& part) { scale(part, factor); });
  }
  WholeStep whole{.step = step_, .gradient = gradients_.span(), .from = {}, .to = {}};
  for (std::uint32_t index = 0; index < vectors_.size(); ++index) {
    whole.from.push_back(vector(index, step_.iteration));
    whole.to.push_back(vector(index, step_.iteration + 1));
  }
  step_whole_(whole);
  return {sum_in_chunk_order(local_sqr_norms_), global_sqr_norm};
}

}  // namespace scavenger::ps
