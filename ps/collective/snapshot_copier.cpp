#include "ps/collective/snapshot_copier.h"

#include <utility>

namespace scavenger::ps {

SnapshotCopier::SnapshotCopier(Replica& replica, const ChunkLayout& layout, Deliver deliver)
    : replica_(replica), layout_(layout), deliver_(std::move(deliver)) {}

void SnapshotCopier::begin(std::uint32_t membership_epoch, const ShardProgress& progress) {
  wait();
  progress_ = progress;
  thread_ = std::thread([this, membership_epoch] { copy(membership_epoch); });
}

void SnapshotCopier::wait() {
  if (thread_.joinable()) thread_.join();
}

void SnapshotCopier::make_way_for(std::uint64_t iteration) {
  const bool overwrites =
      iteration != progress_.iteration && (iteration - progress_.iteration) % 2 == 0;
  if (overwrites) wait();
}

void SnapshotCopier::copy(std::uint32_t membership_epoch) {
  auto snapshot = std::make_shared<ShardSnapshot>();
  snapshot->progress = progress_;
  snapshot->weights = FloatBuffer(layout_.flat_size());
  for (std::uint32_t v = 0; v < replica_.state_vectors(); ++v)
    snapshot->state.emplace_back(layout_.flat_size());
  for (std::uint32_t index = 0; index <= replica_.state_vectors(); ++index) {
    const std::span<float> all =
        index == 0 ? snapshot->weights.span() : snapshot->state[index - 1].span();
    replica_.save(index, progress_.iteration, 0, all);
  }
  deliver_(membership_epoch, std::move(snapshot));
}

}  // namespace scavenger::ps
