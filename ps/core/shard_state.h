// One shard of the parameter server as a plain object: the weights and optimizer state of its
// chunks, and the rules of bulk-synchronous parallel training (BSP). No I/O, no threads, no clock.
//
// It keeps two versions: after an even and after an odd number of iterations. An iteration reads
// one and writes the other, so that it can be undone until the next iteration overwrites the
// version that it has read (docs/design/synchronisation.md).
//
// Rules of admission. A message names a membership epoch, an iteration, a chunk and a rank, and is
//   accepted  if epoch and iteration are the shard's, and the rank has not yet contributed to the
//             chunk;
//   stale     if the epoch or the iteration is an earlier one;
//   an error  (ProtocolError) otherwise: a later epoch or iteration, a second contribution of the
//             same rank to the same chunk, an unknown rank or chunk, a wrong size. A worker needs
//             all new weights before it has the next gradient, so no correct worker is ahead.
// Stale messages and errors change nothing. At the K-th contribution, a chunk is summed in rank
// order and stepped; after the last chunk, the shard proceeds to the next iteration.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "ps/core/float_buffer.h"
#include "ps/core/optimizer.h"
#include "ps/core/reduction.h"
#include "runtime/config/job_config.h"

namespace scavenger::ps {

// The header fields of a gradient message.
struct ChunkStamp {
  std::uint64_t membership_epoch = 0;
  std::uint64_t iteration = 0;
  std::uint32_t chunk = 0;  // index in the whole layout
  std::uint32_t rank = 0;
};

enum class Admission { kAccepted, kStale };

enum class Outcome {
  kStale,              // the message was ignored
  kWaiting,            // gradients of other ranks are missing for the chunk
  kChunkComplete,      // stepped: weights(chunk) are new, norms(chunk) are valid
  kIterationComplete,  // the same for the last chunk: iteration() has increased
  kAllSummed,          // with clipping: all chunks are summed and wait for step_clipped()
};

// Both versions of a shard's chunks, each packed (ChunkLayout::packed_offset).
class ShardMemory final {
 public:
  ShardMemory(const ChunkLayout& layout, std::uint32_t shard, const Optimizer& optimizer);
  // Returns the version after `iteration` iterations. Iterations that differ by an even number
  // share their memory.
  Version version(std::uint64_t iteration);

 private:
  std::array<FloatBuffer, 2> weights_;
  std::array<std::array<FloatBuffer, kMaxStateVectors>, 2> state_;
};

// The ranks of one membership epoch. A gradient vector belongs to the connection or the worker
// rather than to the shard, so that a late read on a connection of an earlier epoch cannot change
// the data of another worker.
struct Membership {
  std::uint64_t epoch = 0;
  std::vector<std::uint32_t> local_batch_sizes;  // b_k; only the ratios b_k / B matter
  std::vector<std::span<float>> gradients;       // one per rank, packed
};

struct ShardProgress {
  std::uint64_t iteration = 0;        // the next iteration, counted from 0
  std::uint64_t optimizer_steps = 0;  // steps already taken with this optimizer state

  bool operator==(const ShardProgress&) const = default;
};

// The norms of one chunk's step. Valid until the next contribute() or reconfigure().
struct ChunkNorms {
  std::span<const double> rank_sqr_norms;  // |g_k|^2 over the chunk
  double sqr_norm = 0.0;                   // |sum_k (b_k / B) g_k|^2 over the chunk
};

// The state of a shard between two iterations. All vectors are packed.
struct ShardSnapshot {
  ShardProgress progress;
  FloatBuffer weights;
  std::vector<FloatBuffer> state;
};

// Thread: one at a time. Functions with a chunk argument require a chunk of this shard, unless they
// check it. It has more than 25 methods and more than 20 fields: a shard's life (start, membership,
// training, snapshots) is told by the sections below, which change the same two versions of its
// chunks. Sums, optimizers, layouts and memory are classes of their own.
class ParameterShard final {
 public:
  // Requires that the layout has this shard.
  ParameterShard(ChunkLayout layout, std::uint32_t shard, const OptimizerConfig& optimizer,
                 const Kernels& kernels = best_kernels());

  const ChunkLayout& layout() const { return layout_; }
  std::uint32_t shard() const { return shard_; }
  const std::vector<std::uint32_t>& chunks() const { return chunks_; }
  const Optimizer& optimizer() const { return optimizer_; }

  // --- Start: start(), then load all weights (and the optimizer state if steps were taken). ---

  // Begins at `progress`: at the start of the job, and when the shard goes back to a checkpoint. If
  // no steps were taken, sets the state to zero. Messages are not accepted before the next
  // reconfigure().
  void start(ShardProgress progress);
  // Throw ProtocolError if the chunk belongs to another shard, if the size is wrong, or if not
  // called between start() and reconfigure().
  void load_weights(std::uint32_t chunk, std::span<const float> weights);
  void load_state(std::size_t vector, std::uint32_t chunk, std::span<const float> state);

  // --- Membership. ---

  // Sets the ranks, whose next gradients are those of `iteration`. This is either the current
  // iteration, which starts again if some gradients have arrived, or the previous one, which is
  // undone. Throws ProtocolError if the epoch is not later than the current one, if no rank has
  // samples, or if the shard cannot go back to that iteration.
  void reconfigure(Membership membership, std::uint64_t iteration);
  // Reads the gradients of this rank, until the next reconfigure(), from a vector of the layout's
  // flat size. Requires that the rank has not contributed yet.
  void use_flat_gradient(std::uint32_t rank, std::span<float> gradient);
  // Returns whether no chunk of iteration() has been stepped.
  bool at_boundary() const { return stepped_chunks_ == 0; }
  ShardProgress progress() const { return progress_; }
  std::uint64_t iteration() const { return progress_.iteration; }
  std::uint64_t membership_epoch() const { return membership_.epoch; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(shares_.size()); }

  // --- Training. ---

  // Applies the rules of admission to a message before its payload is read. Throws ProtocolError.
  Admission admit(const ChunkStamp& stamp, std::uint64_t gradient_size) const;
  // Returns the destination of the payload of an accepted message.
  std::span<float> gradient(std::uint32_t rank, std::uint32_t chunk) const;
  // Adds the contribution of a rank, whose gradient is in its place. Applies the rules again, since
  // the epoch may have changed while the payload was read. Throws ProtocolError, also if the
  // learning rate differs within an iteration.
  Outcome contribute(const ChunkStamp& stamp, double learning_rate);

  // If the optimizer clips: summed_sqr_norms() returns |g|^2 of each of chunks() when all are
  // summed. step_clipped() takes the sum of these over the chunks of all shards, steps all chunks
  // and returns kIterationComplete, or returns kStale. Throws ProtocolError if the chunks are not
  // summed, or like admit().
  std::vector<double> summed_sqr_norms() const;
  Outcome step_clipped(std::uint64_t membership_epoch, std::uint64_t iteration, double sqr_norm);

  // Return the latest version of a chunk: the one after iteration() if the chunk has been stepped,
  // otherwise the one before it. The memory does not change before the second next step of the
  // chunk.
  std::span<const float> weights(std::uint32_t chunk) const;
  std::span<const float> state(std::size_t vector, std::uint32_t chunk) const;
  ChunkNorms norms(std::uint32_t chunk) const;

  // --- Snapshots, which do not stop training. ---

  // Keeps the state of this boundary: each chunk is copied at the latest before the step that would
  // overwrite it, which is in the second next iteration. Requires at_boundary(), and that no other
  // snapshot is in progress.
  void begin_snapshot();
  // Copies one chunk that has not been copied; call it when idle. Returns false if none is left.
  bool copy_chunk_to_snapshot();
  bool has_snapshot() const { return snapshot_.has_value(); }  // in progress
  bool snapshot_complete() const { return snapshot_.has_value() && uncopied_chunks_ == 0; }
  // Requires snapshot_complete(); ends the snapshot.
  ShardSnapshot take_snapshot();

 private:
  struct ChunkProgress {
    std::uint32_t contributions = 0;
    bool stepped = false;
    bool copied = true;  // into the snapshot in progress
    double sqr_norm = 0.0;
  };

  Version chunk_version(std::uint32_t chunk, std::uint64_t iteration) const;
  Version latest(std::uint32_t chunk) const;
  void check_load(std::uint32_t chunk, std::uint64_t size) const;
  void set_learning_rate(const ChunkStamp& stamp, double learning_rate);
  void gather(std::uint32_t chunk);
  void sum_chunk(std::uint32_t chunk);
  void step_chunk(std::uint32_t chunk);
  void keep_for_snapshot(std::uint32_t chunk);
  void end_iteration();
  void copy_to_snapshot(std::uint32_t chunk);
  void go_back_to(std::uint64_t iteration);
  void begin_iteration();

  ChunkLayout layout_;
  std::uint32_t shard_;
  std::vector<std::uint32_t> chunks_;
  Optimizer optimizer_;
  const double clip_norm_;
  mutable ShardMemory memory_;  // mutable, since it returns writable spans even for reading
  ChunkReducer reducer_;

  bool loading_ = false;
  ShardProgress progress_;
  bool can_undo_ = false;  // the version before progress_ is valid
  Membership membership_;
  std::vector<std::uint8_t> is_flat_;  // by rank: whether its gradient is a flat vector, not packed
  std::vector<float> shares_;

  // State of the current iteration, indexed by ChunkLayout::index_in_shard and rank.
  std::vector<ChunkProgress> chunk_progress_;
  std::vector<std::uint8_t> contributed_;
  std::vector<double> rank_sqr_norms_;
  std::vector<Contribution> contributions_;  // scratch
  std::uint32_t stepped_chunks_ = 0;
  std::uint32_t summed_chunks_ = 0;
  std::optional<double> learning_rate_;
  std::optional<OptimizerStep> step_;

  std::optional<ShardSnapshot> snapshot_;
  std::uint32_t uncopied_chunks_ = 0;
  std::uint32_t next_to_copy_ = 0;
};

}  // namespace scavenger::ps
