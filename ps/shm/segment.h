// The memory that the processes of one host share: weights and optimizer state in two versions, a
// gradient for each worker, and the chunk board. It is an unnamed file, which all processes inherit
// from the one that starts them; it disappears when the last of them ends in any way.
//
//   header | chunk counters | queues | norms | weights and state, version 0 | version 1 |
//   gradient of slot 0 | slot 1 | ...
//
// Each part starts at a page. Gradients of unused slots take no memory.
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

inline constexpr std::uint32_t kMostWorkers = 1024;  // the limit of the configuration

// The numbers that determine the layout of the segment.
struct SegmentShape {
  std::uint64_t flat_size = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint32_t state_vectors = 0;  // of the optimizer, without the weights

  bool operator==(const SegmentShape&) const = default;
};

// The start of the file. The keeper writes the fields that are not atomic while all workers are
// halted.
struct SegmentHeader {
  std::uint64_t magic = 0;
  SegmentShape shape;
  std::atomic<std::uint32_t> membership_epoch{0};
  std::uint64_t optimizer_steps = 0;  // steps before the board's first iteration
  // Whether the segment has the weights of the board's iteration.
  std::atomic<std::uint32_t> has_weights{0};
  // 0, or 1 + the iteration whose version is being copied and must not be overwritten.
  std::atomic<std::uint64_t> copying{0};
  // In a segment of a host (ps/host): the membership epoch for which the uplink is ready.
  std::atomic<std::uint32_t> serving_epoch{0};
  BoardMemory board;
  BoardMemory sum_board;
};

// Thread: gradient() by one at a time; access to the memory is governed by ChunkBoard.
class Segment final {
 public:
  // Makes the file a segment of this shape; an existing segment keeps its content. `file` must
  // outlive the segment. Throws ProtocolError if the file is a segment of another shape.
  static std::unique_ptr<Segment> create(int file, const SegmentShape& shape);
  // Throws ProtocolError if the file is not a segment of this shape.
  static std::unique_ptr<Segment> attach(int file, const SegmentShape& shape);
  // Returns the iteration of the segment in the file; nothing if the file is not a segment.
  static std::optional<std::uint64_t> iteration_in(int file);
  // The same, but nothing if the segment does not have the weights of that iteration.
  static std::optional<std::uint64_t> weights_in(int file);

  const ChunkLayout& layout() const { return layout_; }
  SegmentHeader& header() const { return *header_; }
  ChunkBoard& board() { return board_; }
  // The board for sums. If the optimizer clips (`clips`), chunks are first summed by this board;
  // after the last one, all are ready on the other board to be stepped.
  ChunkBoard& sum_board() { return sum_board_; }
  void begin_membership(std::uint64_t iteration, std::uint32_t ranks, bool clips);

  // Returns weights and state after `iteration` iterations. Iterations that differ by an even
  // number share their memory.
  Version version(std::uint64_t iteration) const;
  // Returns the gradient of the worker in `slot`, and allocates it if the slot is new. Requires
  // slot < kMostWorkers.
  std::span<float> gradient(std::uint32_t slot);

  // Return the offsets in the file, in bytes.
  std::uint64_t weights_offset(std::uint64_t iteration) const;
  std::uint64_t gradient_offset(std::uint32_t slot) const;

  // |g_k|^2 of each rank and |g|^2 over a chunk, in the last iteration.
  std::span<double> rank_sqr_norms(std::uint32_t chunk) const;
  double& sqr_norm(std::uint32_t chunk) const;

 private:
  Segment(int file, const SegmentShape& shape);

  const int file_;
  const SegmentShape shape_;
  const ChunkLayout layout_;
  SharedMapping fixed_;  // everything but the gradients
  SegmentHeader* const header_;
  ChunkBoard board_;
  ChunkBoard sum_board_;
  std::map<std::uint32_t, std::unique_ptr<SharedMapping>> gradients_;
};

}  // namespace scavenger::ps
