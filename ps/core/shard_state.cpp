#include "ps/core/shard_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/training/clip_scale.h"

namespace scavenger::ps {
namespace {

std::string describe(const ChunkStamp& stamp) {
  return fmt::format("gradient of chunk {}, rank {}, iteration {}, membership epoch {}",
                     stamp.chunk, stamp.rank, stamp.iteration, stamp.membership_epoch);
}

constexpr const char* kSameJobRemedy =
    "check that all processes are of one version and one job; the connection is to be closed";

[[noreturn]] void refuse(std::string what, std::string where) {
  throw ProtocolError(
      {.what = std::move(what), .where = std::move(where), .remedy = kSameJobRemedy});
}

// (std::ranges::copy between spans copies float by float.)
void copy(std::span<const float> floats, float* place) {
  std::memcpy(place, floats.data(), floats.size_bytes());
}

}  // namespace

ShardMemory::ShardMemory(const ChunkLayout& layout, std::uint32_t shard,
                         const Optimizer& optimizer) {
  const std::uint64_t size = layout.packed_size(shard);
  for (FloatBuffer& weights : weights_) weights = FloatBuffer(size);
  for (auto& vectors : state_)
    for (std::size_t v = 0; v < optimizer.state_names().size(); ++v) vectors[v] = FloatBuffer(size);
}

Version ShardMemory::version(std::uint64_t iteration) {
  Version version{.weights = weights_[iteration % 2].span(), .state = {}};
  for (std::size_t v = 0; v < kMaxStateVectors; ++v)
    version.state[v] = state_[iteration % 2][v].span();
  return version;
}

ParameterShard::ParameterShard(ChunkLayout layout, std::uint32_t shard,
                               const OptimizerConfig& optimizer, const Kernels& kernels)
    : layout_(layout),
      shard_(shard),
      chunks_(layout_.chunks_of(shard)),
      optimizer_(optimizer),
      clip_norm_(optimizer.clip_norm),
      memory_(layout_, shard_, optimizer_),
      reducer_(kernels),
      chunk_progress_(chunks_.size()) {}

// --- Start.

void ParameterShard::start(ShardProgress progress) {
  while (copy_chunk_to_snapshot()) {
  }
  progress_ = progress;
  can_undo_ = false;
  loading_ = true;
  shares_.clear();
  begin_iteration();
  if (progress.optimizer_steps > 0) return;
  for (const auto& vector : memory_.version(progress.iteration).state)
    std::ranges::fill(vector, 0.0F);
}

void ParameterShard::check_load(std::uint32_t chunk, std::uint64_t size) const {
  const std::string where = fmt::format("shard {}, load of chunk {}", shard_, chunk);
  if (!loading_) refuse("weights or state arrive when they are not expected", where);
  if (chunk >= layout_.chunk_count() || layout_.shard_of(chunk) != shard_) {
    refuse("the chunk does not belong to this shard", where);
  }
  const std::uint64_t expected = layout_.range(chunk).size;
  if (size != expected) {
    refuse(fmt::format("{} floats instead of {}", size, expected), where);
  }
}

void ParameterShard::load_weights(std::uint32_t chunk, std::span<const float> weights) {
  check_load(chunk, weights.size());
  copy(weights, latest(chunk).weights.data());
}

void ParameterShard::load_state(std::size_t vector, std::uint32_t chunk,
                                std::span<const float> state) {
  check_load(chunk, state.size());
  if (vector >= optimizer_.state_names().size()) {
    refuse(fmt::format("the optimizer has {} state vectors", optimizer_.state_names().size()),
           fmt::format("shard {}, load of state vector {}", shard_, vector));
  }
  copy(state, latest(chunk).state[vector].data());
}

// --- Membership.

void ParameterShard::reconfigure(Membership membership, std::uint64_t iteration) {
  const std::string where = fmt::format("shard {}, reconfiguration", shard_);
  if (membership.epoch <= membership_.epoch)
    refuse(fmt::format("membership epoch {} follows {}", membership.epoch, membership_.epoch),
           where);
  const std::size_t ranks = membership.local_batch_sizes.size();
  SCAVENGER_CHECK(membership.gradients.size() == ranks);
  if (std::ranges::all_of(membership.local_batch_sizes, [](auto size) { return size == 0; }))
    refuse("a membership without a worker that has samples", where);
  for (const auto& gradient : membership.gradients)
    SCAVENGER_CHECK(gradient.size() == layout_.packed_size(shard_));
  go_back_to(iteration);
  loading_ = false;
  membership_ = std::move(membership);
  is_flat_.assign(ranks, 0);
  shares_ = batch_shares(membership_.local_batch_sizes);
  rank_sqr_norms_.assign(chunks_.size() * ranks, 0.0);
  begin_iteration();
}

void ParameterShard::use_flat_gradient(std::uint32_t rank, std::span<float> gradient) {
  SCAVENGER_CHECK(rank < ranks() && gradient.size() == layout_.flat_size());
  for (std::size_t index = 0; index < chunks_.size(); ++index)
    SCAVENGER_CHECK(contributed_[index * ranks() + rank] == 0);
  membership_.gradients[rank] = gradient;
  is_flat_[rank] = 1;
}

// The current iteration has changed only the version that it writes, so going back means to ignore
// that version.
void ParameterShard::go_back_to(std::uint64_t iteration) {
  if (iteration == progress_.iteration) return;
  if (iteration + 1 != progress_.iteration || !can_undo_ || !at_boundary())
    refuse(
        fmt::format("iteration {} cannot be gone back to from {}", iteration, progress_.iteration),
        fmt::format("shard {}, reconfiguration", shard_));
  progress_ = {progress_.iteration - 1, progress_.optimizer_steps - 1};
  can_undo_ = false;
}

void ParameterShard::begin_iteration() {
  contributed_.assign(chunks_.size() * shares_.size(), 0);
  for (ChunkProgress& chunk : chunk_progress_) {
    chunk.contributions = 0;
    chunk.stepped = false;
  }
  stepped_chunks_ = summed_chunks_ = 0;
  learning_rate_.reset();
  step_.reset();
}

// --- Training.

Admission ParameterShard::admit(const ChunkStamp& stamp, std::uint64_t gradient_size) const {
  const auto refuse_stamp = [&](std::string what) {
    refuse(std::move(what), fmt::format("shard {}, {}", shard_, describe(stamp)));
  };
  if (shares_.empty()) refuse_stamp("the shard has not been started");
  if (stamp.membership_epoch < membership_.epoch) return Admission::kStale;
  if (stamp.membership_epoch > membership_.epoch) {
    refuse_stamp(fmt::format("the shard is at membership epoch {}", membership_.epoch));
  }
  if (stamp.rank >= ranks()) refuse_stamp(fmt::format("the job has {} workers", ranks()));
  if (stamp.chunk >= layout_.chunk_count() || layout_.shard_of(stamp.chunk) != shard_) {
    refuse_stamp("the chunk does not belong to this shard");
  }
  const std::uint64_t expected = layout_.range(stamp.chunk).size;
  if (gradient_size != expected) {
    refuse_stamp(fmt::format("{} floats instead of {}", gradient_size, expected));
  }
  if (stamp.iteration < iteration()) return Admission::kStale;
  if (stamp.iteration > iteration()) {
    refuse_stamp(fmt::format("the shard is at iteration {}", iteration()));
  }
  const std::uint32_t index = layout_.index_in_shard(stamp.chunk);
  if (contributed_[index * ranks() + stamp.rank] != 0) {
    refuse_stamp("the rank has already brought this chunk");
  }
  return Admission::kAccepted;
}

Outcome ParameterShard::contribute(const ChunkStamp& stamp, double learning_rate) {
  const bool known = stamp.chunk < layout_.chunk_count();
  const std::uint64_t size = known ? layout_.range(stamp.chunk).size : 0;
  if (admit(stamp, size) == Admission::kStale) return Outcome::kStale;
  set_learning_rate(stamp, learning_rate);

  const std::uint32_t index = layout_.index_in_shard(stamp.chunk);
  ChunkProgress& chunk = chunk_progress_[index];
  contributed_[index * ranks() + stamp.rank] = 1;
  if (++chunk.contributions < ranks()) return Outcome::kWaiting;

  if (clip_norm_ > 0.0) {
    sum_chunk(stamp.chunk);
    return ++summed_chunks_ < chunks_.size() ? Outcome::kWaiting : Outcome::kAllSummed;
  }
  keep_for_snapshot(stamp.chunk);
  step_chunk(stamp.chunk);
  chunk.stepped = true;
  if (++stepped_chunks_ < chunks_.size()) return Outcome::kChunkComplete;
  end_iteration();
  return Outcome::kIterationComplete;
}

std::vector<double> ParameterShard::summed_sqr_norms() const {
  SCAVENGER_CHECK(summed_chunks_ == chunks_.size());
  std::vector<double> norms;
  for (const ChunkProgress& chunk : chunk_progress_) norms.push_back(chunk.sqr_norm);
  return norms;
}

Outcome ParameterShard::step_clipped(std::uint64_t membership_epoch, std::uint64_t iteration,
                                     double sqr_norm) {
  if (membership_epoch < membership_.epoch || iteration < progress_.iteration)
    return Outcome::kStale;
  if (membership_epoch > membership_.epoch || iteration > progress_.iteration ||
      summed_chunks_ < chunks_.size())
    refuse(fmt::format("membership epoch {}, iteration {} is to be clipped before it is summed",
                       membership_epoch, iteration),
           fmt::format("shard {}", shard_));
  const float scale = clip_scale(sqr_norm, clip_norm_);
  for (const std::uint32_t chunk : chunks_) {
    keep_for_snapshot(chunk);
    const Contribution sum{.gradient = gradient(0, chunk).data(), .share = scale};
    reducer_.update({&sum, 1}, *step_, chunk_version(chunk, progress_.iteration),
                    chunk_version(chunk, progress_.iteration + 1), {});
  }
  end_iteration();
  return Outcome::kIterationComplete;
}

void ParameterShard::keep_for_snapshot(std::uint32_t chunk) {
  const bool copied = chunk_progress_[layout_.index_in_shard(chunk)].copied;
  if (!copied && progress_.iteration != snapshot_->progress.iteration) copy_to_snapshot(chunk);
}

void ParameterShard::end_iteration() {
  progress_ = {progress_.iteration + 1, progress_.optimizer_steps + 1};
  can_undo_ = true;
  begin_iteration();
}

void ParameterShard::set_learning_rate(const ChunkStamp& stamp, double learning_rate) {
  if (!std::isfinite(learning_rate) || (learning_rate_ && *learning_rate_ != learning_rate)) {
    refuse(fmt::format("learning rate {} in an iteration that has {}", learning_rate,
                       learning_rate_ ? fmt::format("{}", *learning_rate_) : "none yet"),
           fmt::format("shard {}, {}", shard_, describe(stamp)));
  }
  if (learning_rate_) return;
  learning_rate_ = learning_rate;
  step_ = optimizer_.step(learning_rate, progress_.optimizer_steps + 1);
}

void ParameterShard::gather(std::uint32_t chunk) {
  contributions_.clear();
  for (std::uint32_t rank = 0; rank < ranks(); ++rank)
    contributions_.push_back({.gradient = gradient(rank, chunk).data(), .share = shares_[rank]});
}

// Writes the sum over the gradient of rank 0, which is no longer needed.
void ParameterShard::sum_chunk(std::uint32_t chunk) {
  const std::uint32_t index = layout_.index_in_shard(chunk);
  gather(chunk);
  chunk_progress_[index].sqr_norm =
      reducer_.sum_with_norm(contributions_, gradient(0, chunk),
                             std::span(rank_sqr_norms_).subspan(index * ranks(), ranks()));
}

void ParameterShard::step_chunk(std::uint32_t chunk) {
  const std::uint32_t index = layout_.index_in_shard(chunk);
  gather(chunk);
  const std::span<double> rank_sqr_norms =
      std::span(rank_sqr_norms_).subspan(index * ranks(), ranks());
  chunk_progress_[index].sqr_norm =
      reducer_.update(contributions_, *step_, chunk_version(chunk, progress_.iteration),
                      chunk_version(chunk, progress_.iteration + 1), rank_sqr_norms);
}

// --- Access to the state.

Version ParameterShard::chunk_version(std::uint32_t chunk, std::uint64_t iteration) const {
  SCAVENGER_CHECK(layout_.shard_of(chunk) == shard_);
  return memory_.version(iteration).part(layout_.packed_offset(chunk), layout_.range(chunk).size);
}

Version ParameterShard::latest(std::uint32_t chunk) const {
  const bool stepped = chunk_progress_[layout_.index_in_shard(chunk)].stepped;
  return chunk_version(chunk, progress_.iteration + (stepped ? 1 : 0));
}

std::span<float> ParameterShard::gradient(std::uint32_t rank, std::uint32_t chunk) const {
  SCAVENGER_CHECK(rank < ranks() && layout_.shard_of(chunk) == shard_);
  const ChunkRange range = layout_.range(chunk);
  return membership_.gradients[rank].subspan(
      is_flat_[rank] != 0 ? range.first : layout_.packed_offset(chunk), range.size);
}

std::span<const float> ParameterShard::weights(std::uint32_t chunk) const {
  return latest(chunk).weights;
}

std::span<const float> ParameterShard::state(std::size_t vector, std::uint32_t chunk) const {
  SCAVENGER_CHECK(vector < optimizer_.state_names().size());
  return latest(chunk).state[vector];
}

ChunkNorms ParameterShard::norms(std::uint32_t chunk) const {
  SCAVENGER_CHECK(layout_.shard_of(chunk) == shard_);
  const std::uint32_t index = layout_.index_in_shard(chunk);
  return {.rank_sqr_norms = std::span(rank_sqr_norms_).subspan(index * ranks(), ranks()),
          .sqr_norm = chunk_progress_[index].sqr_norm};
}

// --- Snapshots.

void ParameterShard::begin_snapshot() {
  SCAVENGER_CHECK(!shares_.empty() && at_boundary() && !snapshot_);
  const std::uint64_t size = layout_.packed_size(shard_);
  snapshot_.emplace(
      ShardSnapshot{.progress = progress_, .weights = FloatBuffer(size), .state = {}});
  for (std::size_t s = 0; s < optimizer_.state_names().size(); ++s)
    snapshot_->state.emplace_back(size);
  for (ChunkProgress& chunk : chunk_progress_) chunk.copied = false;
  uncopied_chunks_ = static_cast<std::uint32_t>(chunks_.size());
  next_to_copy_ = 0;
}

bool ParameterShard::copy_chunk_to_snapshot() {
  if (!snapshot_ || uncopied_chunks_ == 0) return false;
  while (chunk_progress_[next_to_copy_].copied) ++next_to_copy_;
  copy_to_snapshot(chunks_[next_to_copy_]);
  return uncopied_chunks_ > 0;
}

void ParameterShard::copy_to_snapshot(std::uint32_t chunk) {
  const Version version = chunk_version(chunk, snapshot_->progress.iteration);
  const std::uint64_t place = layout_.packed_offset(chunk);
  copy(version.weights, snapshot_->weights.span().data() + place);
  for (std::size_t s = 0; s < snapshot_->state.size(); ++s)
    copy(version.state[s], snapshot_->state[s].span().data() + place);
  chunk_progress_[layout_.index_in_shard(chunk)].copied = true;
  --uncopied_chunks_;
}

ShardSnapshot ParameterShard::take_snapshot() {
  SCAVENGER_CHECK(snapshot_complete());
  ShardSnapshot snapshot = std::move(*snapshot_);
  snapshot_.reset();
  return snapshot;
}

}  // namespace scavenger::ps
