// The memory that the processes of one host share: weights and optimizer state in two versions, a
// gradient for each worker, and the board on which they agree. A file without a name, handed down
// to every process by the one that starts them: it is gone when the last of them is, however they
// end.
//
//   header | chunk counters | queues | norms | weights and state, version 0 | version 1 |
//   gradient of slot 0 | slot 1 | ...
//
// Each part starts on a page. Gradients of slots that nobody uses take no memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "ps/core/optimizer.h"
#include "ps/shm/chunk_board.h"
#include "runtime/base/shared_memory.h"

namespace scavenger::ps {

inline constexpr std::uint32_t kMostWorkers = 1024;  // as the configuration allows

// Everything that decides where things lie.
struct SegmentShape {
  std::uint64_t flat_size = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint32_t state_vectors = 0;  // of the optimizer

  bool operator==(const SegmentShape&) const = default;
};

// At the file's start. What is not atomic is written by the keeper while all workers are halted.
struct SegmentHeader {
  std::uint64_t magic = 0;
  SegmentShape shape;
  std::atomic<std::uint32_t> membership_epoch{0};
  std::uint64_t optimizer_steps = 0;  // taken before the board's first iteration
  // Whether the weights of the board's iteration are there.
  std::atomic<std::uint32_t> has_weights{0};
  // 0, or 1 + the iteration whose version is being copied: it must not be written over.
  std::atomic<std::uint64_t> copying{0};
  // Of a segment that serves a host (ps/host): the membership for which its uplink is ready.
  std::atomic<std::uint32_t> serving_epoch{0};
  BoardMemory board;
  BoardMemory sum_board;
};

// Thread: gradient() one at a time; what the memory holds, as ChunkBoard says.
class Segment final {
 public:
  // Makes the file a segment of this shape; or, where it is one, takes it as it is. Throws
  // ProtocolError where it is one of another shape. `file` must outlive it.
  static std::unique_ptr<Segment> create(int file, const SegmentShape& shape);
  // Throws ProtocolError where the file is no segment of this shape.
  static std::unique_ptr<Segment> attach(int file, const SegmentShape& shape);
  // Whether the file has been made a segment, and by which iteration it is.
  static std::optional<std::uint64_t> iteration_in(int file);
  // The same, where it has the weights of that iteration.
  static std::optional<std::uint64_t> weights_in(int file);

  const ChunkLayout& layout() const { return layout_; }
  SegmentHeader& header() const { return *header_; }
  ChunkBoard& board() { return board_; }
  // Where the optimizer clips, chunks are summed here first; with the last one all are known to the
  // other board, to be stepped. `clips`: whether they are, in this membership.
  ChunkBoard& sum_board() { return sum_board_; }
  void begin_membership(std::uint64_t iteration, std::uint32_t ranks, bool clips);

  // Weights and state after this number of iterations (or this plus or minus 2, 4, ...).
  Version version(std::uint64_t iteration) const;
  // A worker's gradient. Makes room for it where `slot` is new. Requires slot < kMostWorkers.
  std::span<float> gradient(std::uint32_t slot);

  // Where in the file these are, in bytes.
  std::uint64_t weights_offset(std::uint64_t iteration) const;
  std::uint64_t gradient_offset(std::uint32_t slot) const;

  // |g_k|^2 of each rank over a chunk, and |g|^2, of the last iteration.
  std::span<double> rank_sqr_norms(std::uint32_t chunk) const;
  double& sqr_norm(std::uint32_t chunk) const;

 private:
  Segment(int file, const SegmentShape& shape);

  const int file_;
  const SegmentShape shape_;
  const ChunkLayout layout_;
  SharedMapping fixed_;  // all but the gradients
  SegmentHeader* const header_;
  ChunkBoard board_;
  ChunkBoard sum_board_;
  std::map<std::uint32_t, std::unique_ptr<SharedMapping>> gradients_;
};

}  // namespace scavenger::ps
