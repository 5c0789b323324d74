#include "ps/core/shard_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

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

}  // namespace

OwnedShardMemory::OwnedShardMemory(const ChunkLayout& layout, std::uint32_t shard,
                                   const OptimizerConfig& config)
    : weights_(layout.packed_size(shard)) {
  for (std::size_t i = 0; i < Optimizer(config).state_names().size(); ++i) {
    state_.emplace_back(layout.packed_size(shard));
  }
}

ShardMemory OwnedShardMemory::view() {
  ShardMemory memory{.addressing = Addressing::kPacked, .weights = weights_.span(), .state = {}};
  for (FloatBuffer& vector : state_) memory.state.push_back(vector.span());
  return memory;
}

ParameterShard::ParameterShard(ChunkLayout layout, std::uint32_t shard,
                               const OptimizerConfig& optimizer, ShardMemory memory,
                               const Kernels& kernels)
    : layout_(layout),
      shard_(shard),
      chunks_(layout_.chunks_of(shard)),
      optimizer_(optimizer),
      memory_(std::move(memory)),
      reducer_(kernels),
      chunk_progress_(chunks_.size()) {
  const std::uint64_t packed_size = layout_.packed_size(shard_);
  const bool flat = memory_.addressing == Addressing::kFlat;
  SCAVENGER_CHECK(memory_.weights.size() == (flat ? layout_.flat_size() : packed_size));
  SCAVENGER_CHECK(memory_.state.size() == optimizer_.state_names().size());
  for (const auto& vector : memory_.state) SCAVENGER_CHECK(vector.size() == packed_size);
}

// --- Start.

void ParameterShard::check_load(std::uint32_t chunk, std::uint64_t size) const {
  const std::string where = fmt::format("shard {}, load of chunk {}", shard_, chunk);
  if (started_) refuse("weights or state arrive after the shard has started", where);
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
  std::ranges::copy(weights, memory_.weights.subspan(offset(chunk)).begin());
}

void ParameterShard::load_state(std::size_t vector, std::uint32_t chunk,
                                std::span<const float> state) {
  check_load(chunk, state.size());
  if (vector >= memory_.state.size()) {
    refuse(fmt::format("the optimizer has {} state vectors", memory_.state.size()),
           fmt::format("shard {}, load of state vector {}", shard_, vector));
  }
  std::ranges::copy(state, state_of(vector, chunk).begin());
}

void ParameterShard::start(ShardProgress progress) {
  if (started_) refuse("the shard has started already", fmt::format("shard {}", shard_));
  if (progress.optimizer_steps == 0) {
    for (const auto& vector : memory_.state) std::ranges::fill(vector, 0.0F);
  }
  progress_ = progress;
  started_ = true;
}

// --- Membership.

void ParameterShard::reconfigure(Membership membership) {
  const bool first = shares_.empty();
  if (!first && membership.epoch <= membership_.epoch) {
    refuse(fmt::format("membership epoch {} follows {}", membership.epoch, membership_.epoch),
           fmt::format("shard {}, reconfiguration", shard_));
  }
  const std::size_t ranks = membership.local_batch_sizes.size();
  SCAVENGER_CHECK(membership.gradients.size() == ranks);
  if (std::ranges::all_of(membership.local_batch_sizes, [](auto size) { return size == 0; })) {
    refuse("a membership without a worker that has samples",
           fmt::format("shard {}, reconfiguration", shard_));
  }
  for (const auto& gradient : membership.gradients) {
    SCAVENGER_CHECK(gradient.size() == memory_.weights.size());
  }
  membership_ = std::move(membership);
  shares_ = batch_shares(membership_.local_batch_sizes);
  contributed_.assign(chunks_.size() * ranks, 0);
  rank_sqr_norms_.assign(chunks_.size() * ranks, 0.0);
  forget_contributions(false);
}

void ParameterShard::forget_contributions(bool stepped_too) {
  std::ranges::fill(contributed_, std::uint8_t{0});
  for (ChunkProgress& chunk : chunk_progress_) {
    chunk.contributions = 0;
    if (stepped_too) chunk.stepped = false;
  }
  if (stepped_too) stepped_chunks_ = 0;
  if (at_boundary()) {
    learning_rate_.reset();
    step_.reset();
  }
}

// --- Training.

Admission ParameterShard::admit(const ChunkStamp& stamp, std::uint64_t gradient_size) const {
  const auto refuse_stamp = [&](std::string what) {
    refuse(std::move(what), fmt::format("shard {}, {}", shard_, describe(stamp)));
  };
  if (!started_ || shares_.empty()) refuse_stamp("the shard has not been started");
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
  return chunk_progress_[index].stepped ? Admission::kStale : Admission::kAccepted;
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

  if (!chunk.copied) copy_to_snapshot(stamp.chunk);
  step_chunk(stamp.chunk);
  chunk.stepped = true;
  if (++stepped_chunks_ < chunks_.size()) return Outcome::kChunkComplete;
  finish_iteration();
  return Outcome::kIterationComplete;
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

void ParameterShard::step_chunk(std::uint32_t chunk) {
  const std::uint32_t index = layout_.index_in_shard(chunk);
  contributions_.clear();
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    contributions_.push_back({.gradient = gradient(rank, chunk).data(), .share = shares_[rank]});
  }
  StateSpans state;
  for (std::size_t s = 0; s < memory_.state.size(); ++s) state[s] = state_of(s, chunk);
  const std::span<double> rank_sqr_norms =
      std::span(rank_sqr_norms_).subspan(index * ranks(), ranks());
  chunk_progress_[index].sqr_norm = reducer_.update(
      contributions_, *step_, memory_.weights.subspan(offset(chunk), layout_.range(chunk).size),
      state, rank_sqr_norms);
}

void ParameterShard::finish_iteration() {
  ++progress_.iteration;
  ++progress_.optimizer_steps;
  forget_contributions(true);
}

// --- What it holds.

std::uint64_t ParameterShard::offset(std::uint32_t chunk) const {
  SCAVENGER_CHECK(layout_.shard_of(chunk) == shard_);
  return memory_.addressing == Addressing::kFlat ? layout_.range(chunk).first
                                                 : layout_.packed_offset(chunk);
}

std::span<float> ParameterShard::gradient(std::uint32_t rank, std::uint32_t chunk) const {
  SCAVENGER_CHECK(rank < ranks());
  return membership_.gradients[rank].subspan(offset(chunk), layout_.range(chunk).size);
}

std::span<const float> ParameterShard::weights(std::uint32_t chunk) const {
  return memory_.weights.subspan(offset(chunk), layout_.range(chunk).size);
}

std::span<float> ParameterShard::state_of(std::size_t vector, std::uint32_t chunk) const {
  SCAVENGER_CHECK(vector < memory_.state.size() && layout_.shard_of(chunk) == shard_);
  return memory_.state[vector].subspan(layout_.packed_offset(chunk), layout_.range(chunk).size);
}

std::span<const float> ParameterShard::state(std::size_t vector, std::uint32_t chunk) const {
  return state_of(vector, chunk);
}

ChunkNorms ParameterShard::norms(std::uint32_t chunk) const {
  SCAVENGER_CHECK(layout_.shard_of(chunk) == shard_);
  const std::uint32_t index = layout_.index_in_shard(chunk);
  return {.rank_sqr_norms = std::span(rank_sqr_norms_).subspan(index * ranks(), ranks()),
          .sqr_norm = chunk_progress_[index].sqr_norm};
}

// --- Snapshots.

void ParameterShard::begin_snapshot() {
  SCAVENGER_CHECK(started_ && at_boundary() && !snapshot_);
  const std::uint64_t size = layout_.packed_size(shard_);
  snapshot_.emplace(
      ShardSnapshot{.progress = progress_, .weights = FloatBuffer(size), .state = {}});
  for (std::size_t s = 0; s < memory_.state.size(); ++s) snapshot_->state.emplace_back(size);
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
  const auto place = static_cast<std::ptrdiff_t>(layout_.packed_offset(chunk));
  std::ranges::copy(weights(chunk), snapshot_->weights.span().begin() + place);
  for (std::size_t s = 0; s < memory_.state.size(); ++s) {
    std::ranges::copy(state(s, chunk), snapshot_->state[s].span().begin() + place);
  }
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
