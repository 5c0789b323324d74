#include "ps/collective/stepped_replica.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/training/clip_scale.h"

namespace scavenger::ps {

SteppedReplica::SteppedReplica(const ChunkLayout& layout, const OptimizerConfig& optimizer,
                               StepWhole step)
    : HostMemoryReplica(layout, optimizer.clip_norm),
      step_whole_(std::move(step)),
      vectors_(1 + optimizer.state.size()) {
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

// ---- An iteration. ----

double SteppedReplica::scale(const ChunkRange& part, float factor) {
  const std::span<float> gradient = gradient_of(part);
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

std::optional<GradientNorms> SteppedReplica::finish() {
  const double global_sqr_norm = sum_in_chunk_order(global_sqr_norms_);
  if (clips()) {
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
  return GradientNorms{sum_in_chunk_order(local_sqr_norms_), global_sqr_norm};
}

}  // namespace scavenger::ps
