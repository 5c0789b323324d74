#include "ps/collective/collective_synchroniser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "ps/core/reduction.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/config/learning_rate.h"

namespace scavenger::ps {
namespace {

[[noreturn]] void refuse(std::string what) {
  throw ProtocolError(
      {.what = std::move(what), .where = "state of an all-reduce worker", .remedy = {}});
}

}  // namespace

CollectiveSynchroniser::CollectiveSynchroniser(Parts parts, const ChunkLayout& layout,
                                               const Clock& clock, const Options& options)
    : replica_(std::move(parts.replica)),
      collective_(std::move(parts.collective)),
      layout_(layout),
      clock_(clock),
      options_(options),
      copier_(*replica_, layout_, std::move(parts.deliver_snapshot)),
      sums_(*replica_, *collective_, layout_, options.buckets) {}

// ---- Joining. ----

bool CollectiveSynchroniser::join(const SyncGroup& group, const InitialWeights& initial_weights) {
  copier_.wait();
  take_place(group);
  if (group.writes_initial_weights) {
    held_.reset();
    replica_->clear(next_iteration_);
    initial_weights(weights());
    held_ = next_iteration_;
  }
  return sums_.attempt([&] {
    collective_->join(group);
    if (group.shares_state) share_state(group);
    if (held_ != next_iteration_)
      refuse(fmt::format("the state of iteration {} is nowhere", next_iteration_));
  });
}

void CollectiveSynchroniser::take_place(const SyncGroup& group) {
  membership_ = group.membership;
  optimizer_steps_ = group.optimizer_steps;
  next_iteration_ = membership_.first_iteration;
  sums_.begin_membership(batch_shares(membership_.shares)[group.rank], membership_.workers() == 1);
}

// Workers that already have the state receive it once more. This is safe even if it is interrupted,
// since only a complete state is used.
void CollectiveSynchroniser::share_state(const SyncGroup& group) {
  const bool has_it = held_ == next_iteration_;
  if (group.rank == group.source_rank && !has_it)
    refuse(fmt::format("iteration {} is asked for, and it has {}", next_iteration_,
                       held_ ? fmt::format("{}", *held_) : "none"));
  const bool overwrites = held_ && !has_it && (next_iteration_ - *held_) % 2 == 0;
  if (overwrites) held_.reset();
  for (std::uint32_t index = 0; index <= replica_->state_vectors(); ++index) {
    const bool spare = has_it && group.rank != group.source_rank;
    collective_->broadcast(spare ? replica_->gradients() : replica_->vector(index, next_iteration_),
                           group.source_rank);
  }
  held_ = next_iteration_;
}

// ---- An iteration. ----

std::uint64_t CollectiveSynchroniser::steps_before(std::uint64_t iteration) const {
  return optimizer_steps_ + (iteration - membership_.first_iteration);
}

void CollectiveSynchroniser::begin(std::uint64_t iteration) {
  SCAVENGER_CHECK(iteration == next_iteration_ && held_ == iteration);
  sums_.begin_iteration();
  const double rate =
      learning_rate_at(options_.optimizer, membership_, options_.samples_per_epoch, iteration);
  replica_->begin({iteration, rate, steps_before(iteration) + 1,
                   membership_.position_at(iteration) / options_.samples_per_epoch});
}

std::optional<SyncResult> CollectiveSynchroniser::finish() {
  SCAVENGER_CHECK(sums_.all_ready());
  const double start_seconds = clock_.now_seconds();
  copier_.make_way_for(next_iteration_ + 1);
  std::optional<GradientNorms> norms;
  const bool done = !sums_.given_up() && sums_.attempt([&] {
    replica_->begin_steps();
    for (const FlatRange& bucket : sums_.buckets()) {
      collective_->finish_sum();
      replica_->step(bucket);
    }
    norms = replica_->finish();
  });
  if (!done) return std::nullopt;
  held_ = ++next_iteration_;
  wait_seconds_ = clock_.now_seconds() - start_seconds;
  if (!norms) return SyncResult{.wait_seconds = wait_seconds_, .is_late = true};
  return SyncResult{wait_seconds_, norms->local_sqr_norm, norms->global_sqr_norm};
}

// A device may have been busy with the sums and the step for longer than the host has waited.
SyncResult CollectiveSynchroniser::late_result() {
  const LateNorms late = replica_->late_norms();
  return {std::max(wait_seconds_, late.seconds), late.norms.local_sqr_norm,
          late.norms.global_sqr_norm};
}

// ---- State from a checkpoint, and to the next one. ----

void CollectiveSynchroniser::begin_load(std::uint64_t iteration) {
  copier_.wait();
  held_.reset();
  loading_iteration_ = iteration;
  loaded_.expect(1 + replica_->state_vectors(), layout_.chunk_count());
}

bool CollectiveSynchroniser::load(std::uint32_t vector, std::uint32_t chunk,
                                  std::span<const std::byte> floats) {
  if (loaded_.complete() || vector > replica_->state_vectors() || chunk >= layout_.chunk_count() ||
      floats.size() != layout_.range(chunk).size * sizeof(float))
    refuse("a piece came that does not fit");
  std::vector<float> values(floats.size() / sizeof(float));
  std::memcpy(values.data(), floats.data(), floats.size());
  replica_->load(vector, loading_iteration_, layout_.range(chunk).first, values);
  if (!loaded_.note(vector, chunk)) return false;
  held_ = loading_iteration_;
  return true;
}

std::uint64_t CollectiveSynchroniser::begin_snapshot(std::uint64_t iteration) {
  if (held_ != iteration || next_iteration_ != iteration)
    refuse(fmt::format("a snapshot of iteration {} was asked for, and it is at {}", iteration,
                       next_iteration_));
  copier_.begin(membership_.epoch, {iteration, steps_before(iteration)});
  return steps_before(iteration);
}

}  // namespace scavenger::ps
