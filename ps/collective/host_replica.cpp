#include "ps/collective/host_replica.h"

#include "runtime/base/check.h"
#include "runtime/training/clip_scale.h"

namespace scavenger::ps {

HostReplica::HostReplica(const ChunkLayout& layout, const OptimizerConfig& optimizer)
    : HostMemoryReplica(layout, optimizer.clip_norm),
      optimizer_(optimizer),
      memory_(layout_, 0, optimizer_) {}

std::uint32_t HostReplica::state_vectors() const {
  return static_cast<std::uint32_t>(optimizer_.state_names().size());
}

std::span<float> HostReplica::vector(std::uint32_t index, std::uint64_t iteration) {
  SCAVENGER_CHECK(index <= state_vectors());
  const Version version = memory_.version(iteration);
  return index == 0 ? version.weights : version.state[index - 1];
}

// ---- An iteration. ----

void HostReplica::begin(const ReplicaStep& step) {
  step_ = optimizer_.step(step.learning_rate, step.step_number);
  from_ = memory_.version(step.iteration);
  to_ = memory_.version(step.iteration + 1);
}

void HostReplica::weight(FlatRange range, float share) {
  alone_ = share == 1.0F;
  if (alone_) return;  // step() computes the norm
  for_chunks(range, [&](std::uint32_t chunk, const ChunkRange& part) {
    const std::span<float> gradient = gradient_of(part);
    const Contribution own{.gradient = gradient.data(), .share = share};
    reducer_.sum({&own, 1}, gradient, {&local_sqr_norms_[chunk], 1});
  });
}

void HostReplica::step(FlatRange range) {
  for_chunks(range, [&](std::uint32_t chunk, const ChunkRange& part) {
    const std::span<float> gradient = gradient_of(part);
    const Contribution sum{.gradient = gradient.data(), .share = 1.0F};
    double sqr_norm = 0.0;
    global_sqr_norms_[chunk] = clips() ? reducer_.sum_with_norm({&sum, 1}, gradient, {&sqr_norm, 1})
                                       : step_chunk(part, 1.0F, {&sqr_norm, 1});
    if (alone_) local_sqr_norms_[chunk] = sqr_norm;
  });
}

double HostReplica::step_chunk(const ChunkRange& part, float scale, std::span<double> sqr_norm) {
  const Contribution sum{.gradient = gradients_.span().data() + part.first, .share = scale};
  return reducer_.update({&sum, 1}, *step_, from_.part(part.first, part.size),
                         to_.part(part.first, part.size), sqr_norm);
}

std::optional<GradientNorms> HostReplica::finish() {
  const double global_sqr_norm = sum_in_chunk_order(global_sqr_norms_);
  if (clips()) {  // the norm of the whole gradient is known now
    const float scale = clip_scale(global_sqr_norm, clip_norm_);
    for_chunks({0, layout_.flat_size()},
               [&](std::uint32_t, const ChunkRange& part) { step_chunk(part, scale, {}); });
  }
  return GradientNorms{sum_in_chunk_order(local_sqr_norms_), global_sqr_norm};
}

}  // namespace scavenger::ps
