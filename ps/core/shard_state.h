// One shard of the parameter server as a plain object: the weights and optimizer state of its
// chunks, and the rules of bulk-synchronous parallel training (BSP). No I/O, no threads, no clock.
//
// It keeps two versions: those after an even and after an odd number of iterations. An iteration
// reads one and writes the other, so that it can be undone until the next one writes over what it
// read (docs/synchronisation.md).
//
// The rules. The shard is at one iteration. A message names a membership epoch, an iteration, a
// chunk and a rank, and is
//   accepted  where epoch and iteration are the shard's, and the rank has not yet brought the
//             chunk;
//   stale     where the epoch or the iteration is an earlier one;
//   an error  (ProtocolError) otherwise: a later epoch or iteration, a second time the same chunk
//             from the same rank, a rank or chunk that is not there, a wrong size. A worker needs
//             all new weights before it has the next gradient, so nobody can honestly be ahead.
// Stale messages and errors change nothing. With the K-th contribution a chunk is summed in rank
// order and stepped; with the last chunk the shard goes to the next iteration.
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

// What every gradient message carries.
struct ChunkStamp {
  std::uint64_t membership_epoch = 0;
  std::uint64_t iteration = 0;
  std::uint32_t chunk = 0;  // in the whole layout
  std::uint32_t rank = 0;
};

enum class Admission { kAccepted, kStale };

enum class Outcome {
  kStale,              // nothing happened
  kWaiting,            // other ranks have yet to bring the chunk
  kChunkComplete,      // stepped: weights(chunk) are new, norms(chunk) are there
  kIterationComplete,  // the same, and it was the last chunk: iteration() has moved on
  kAllSummed,          // with clipping: all chunks are summed, and wait for step_clipped()
};

// Both versions of a shard's chunks, each packed: ChunkLayout::packed_offset.
class ShardMemory final {
 public:
  ShardMemory(const ChunkLayout& layout, std::uint32_t shard, const Optimizer& optimizer);
  // After this number of iterations, or this plus or minus 2, 4, ...
  Version version(std::uint64_t iteration);

 private:
  std::array<FloatBuffer, 2> weights_;
  std::array<std::array<FloatBuffer, kMaxStateVectors>, 2> state_;
};

// The ranks of one membership epoch. A gradient vector belongs to the connection or the worker, not
// to the shard: a late read on a connection of an earlier epoch then cannot touch another's data.
struct Membership {
  std::uint64_t epoch = 0;
  std::vector<std::uint32_t> local_batch_sizes;  // b_k; only their ratios b_k / B matter
  std::vector<std::span<float>> gradients;       // one per rank, packed
};

struct ShardProgress {
  std::uint64_t iteration = 0;        // the next to be made, from 0
  std::uint64_t optimizer_steps = 0;  // already taken with this optimizer state

  bool operator==(const ShardProgress&) const = default;
};

// What one chunk's step yielded. Valid until the next contribution() or reconfigure().
struct ChunkNorms {
  std::span<const double> rank_sqr_norms;  // |g_k|^2 over the chunk
  double sqr_norm = 0.0;                   // |sum_k (b_k / B) g_k|^2 over the chunk
};

// The state of a shard between two iterations; all vectors are packed.
struct ShardSnapshot {
  ShardProgress progress;
  FloatBuffer weights;
  std::vector<FloatBuffer> state;
};

// Thread: one at a time. Functions that take a chunk require one of this shard, unless they say
// that they check it.
class ParameterShard final {
 public:
  // Requires a layout that has this shard.
  ParameterShard(ChunkLayout layout, std::uint32_t shard, const OptimizerConfig& optimizer,
                 const Kernels& kernels = best_kernels());

  const ChunkLayout& layout() const { return layout_; }
  std::uint32_t shard() const { return shard_; }
  const std::vector<std::uint32_t>& chunks() const { return chunks_; }
  const Optimizer& optimizer() const { return optimizer_; }

  // --- Start. Say where, load all weights (and the optimizer state, where steps were taken). ---
  // At the start, and again where the shard goes back to a checkpoint. With no steps taken, state
  // is set to zero. Nothing is accepted before the next reconfigure().
  void start(ShardProgress progress);
  // Both throw ProtocolError on a chunk of another shard or a wrong size, or unless called between
  // start() and reconfigure().
  void load_weights(std::uint32_t chunk, std::span<const float> weights);
  void load_state(std::size_t vector, std::uint32_t chunk, std::span<const float> state);

  // --- Membership. ---
  // The ranks from now on, which bring the gradients of `iteration` next: the present one, which is
  // begun anew where some of it has been brought, or the one before, which is undone. Throws
  // ProtocolError where the epoch is not later than the present one, no rank has samples, or that
  // iteration cannot be gone back to.
  void reconfigure(Membership membership, std::uint64_t iteration);
  // The gradients of this rank lie, until the next reconfigure(), in a vector of the layout's flat
  // size. Requires that it has brought none yet.
  void use_flat_gradient(std::uint32_t rank, std::span<float> gradient);
  // No chunk of iteration() has been stepped.
  bool at_boundary() const { return stepped_chunks_ == 0; }
  ShardProgress progress() const { return progress_; }
  std::uint64_t iteration() const { return progress_.iteration; }
  std::uint64_t membership_epoch() const { return membership_.epoch; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(shares_.size()); }

  // --- Training. ---
  // Judges a message by its head, before its payload is read. Throws ProtocolError.
  Admission admit(const ChunkStamp& stamp, std::uint64_t gradient_size) const;
  // Where the payload of an accepted message belongs.
  std::span<float> gradient(std::uint32_t rank, std::uint32_t chunk) const;
  // The gradient is in its place. Judges again (the epoch may have moved on while the payload was
  // read). The learning rate must be the same for all contributions of an iteration, else
  // ProtocolError.
  Outcome contribute(const ChunkStamp& stamp, double learning_rate);

  // Where the optimizer clips: |g|^2 of each of chunks(), when all are summed. Their sum over the
  // chunks of all shards is what step_clipped() wants, which steps all chunks: kIterationComplete,
  // or kStale. Throws ProtocolError where they are not summed, or as admit().
  std::vector<double> summed_sqr_norms() const;
  Outcome step_clipped(std::uint64_t membership_epoch, std::uint64_t iteration, double sqr_norm);

  // Their latest version: that after iteration() where the chunk has been stepped, else before it.
  // It does not change before the chunk's next but one step.
  std::span<const float> weights(std::uint32_t chunk) const;
  std::span<const float> state(std::size_t vector, std::uint32_t chunk) const;
  ChunkNorms norms(std::uint32_t chunk) const;

  // --- Snapshots, which do not stop training. ---
  // From now on the state of this boundary is kept: a chunk is copied at the latest just before the
  // step of the next iteration but one, which would write over it. Requires at_boundary(), and no
  // other snapshot under way.
  void begin_snapshot();
  // Copies one chunk that has not been copied, for idle moments. False where none is left.
  bool copy_chunk_to_snapshot();
  bool has_snapshot() const { return snapshot_.has_value(); }  // under way
  bool snapshot_complete() const { return snapshot_.has_value() && uncopied_chunks_ == 0; }
  // Requires snapshot_complete(); ends the snapshot.
  ShardSnapshot take_snapshot();

 private:
  struct ChunkProgress {
    std::uint32_t contributions = 0;
    bool stepped = false;
    bool copied = true;  // into the snapshot under way
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
  mutable ShardMemory memory_;  // hands out spans that may be written, also for reading
  ChunkReducer reducer_;

  bool loading_ = false;
  ShardProgress progress_;
  bool can_undo_ = false;  // the version before progress_ is there
  Membership membership_;
  std::vector<std::uint8_t> is_flat_;  // by rank: its gradient is not packed
  std::vector<float> shares_;

  // Of the iteration under way. Indexed by ChunkLayout::index_in_shard, and rank.
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
