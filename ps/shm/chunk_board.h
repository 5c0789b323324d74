// Coordinates an iteration whose gradients are in shared memory: which chunks are ready, and which
// process steps them. It consists of counters that several processes change without locks.
//
// Each rank contributes its gradient of a chunk. At the last contribution the chunk is ready and is
// queued. Any idle worker takes a chunk from the queue and steps it; after the last chunk the
// iteration is done. This is one atomic store, so that an iteration is either done or not, whenever
// a process dies. If it is not, its work is lost and it starts again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ps/shm/futex.h"

namespace scavenger::ps {

// The counters in the segment. All zeros mean a board at iteration 0 without ranks. Each group of
// counters that different processes write has its own cache line.
struct BoardMemory {
  // The first three fields are written while all workers are halted.
  std::uint64_t first_iteration = 0;  // of the membership
  std::uint32_t ranks = 0;
  std::uint32_t chunks = 0;
  alignas(64) std::atomic<std::uint64_t> iteration{0};  // the first iteration that is not done
  alignas(64) std::atomic<std::uint64_t> ready{0};  // chunks that became ready in the membership
  alignas(64) std::atomic<std::uint64_t> taken{0};
  alignas(64) std::atomic<std::uint64_t> stepped{0};
  // Changes with every event that a process may wait for.
  alignas(64) std::atomic<std::uint32_t> news{0};
  std::atomic<std::uint32_t> sleepers{0};
};

struct alignas(64) ChunkCounter {
  std::atomic<std::uint64_t> contributions{0};  // counted since the membership's first iteration
  std::atomic<std::uint64_t> stepped{0};        // iterations of the membership, if noted
};

// An entry of the queue: a chunk that became ready, and its iteration, counted from 1 within the
// membership.
struct ReadyPlace {
  std::atomic<std::uint64_t> turn_and_chunk{0};
};

// Thread: any process and thread, except begin_membership(). The memory must outlive the board.
class ChunkBoard final {
 public:
  ChunkBoard(BoardMemory& memory, std::span<ChunkCounter> counters, std::span<ReadyPlace> queue);

  // Begins a membership of `ranks` ranks, whose next iteration is `iteration`. Requires that no
  // other process uses the board.
  void begin_membership(std::uint64_t iteration, std::uint32_t ranks);

  // Returns the first iteration that is not done. The results of all earlier ones can be read.
  std::uint64_t iteration() const { return memory_.iteration.load(std::memory_order_seq_cst); }

  // The next three functions do nothing if `iteration` is not the board's.

  // Records that one rank's gradient of this chunk is in its place.
  void contribute(std::uint64_t iteration, std::uint32_t chunk);
  // Returns a chunk that is ready and that the caller must step; nothing if there is none.
  std::optional<std::uint32_t> take(std::uint64_t iteration);
  // Records that the new weights of this chunk can be read, for is_stepped(). Call it for a taken
  // chunk before finish(), in each iteration or in none.
  void note_stepped(std::uint64_t iteration, std::uint32_t chunk);
  bool is_stepped(std::uint64_t iteration, std::uint32_t chunk) const;
  // Records that a taken chunk has been stepped. Returns true if it was the last one.
  bool finish(std::uint64_t iteration);
  // Returns how many chunks may be taken at this moment.
  std::uint64_t waiting_chunks() const;

  // Sleeps until announce(), for at most `seconds`; does not sleep if `has_news` returns true. A
  // process must call announce() after it has changed what `has_news` reads; then no change is
  // missed.
  template <typename HasNews>
  void sleep_unless(const HasNews& has_news, double seconds) {
    memory_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = memory_.news.load(std::memory_order_seq_cst);
    if (!has_news()) futex_wait(memory_.news, seen, seconds);
    memory_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
  // Wakes all sleeping processes.
  void announce();

 private:
  std::uint64_t turn(std::uint64_t iteration) const {
    return iteration - memory_.first_iteration + 1;
  }

  BoardMemory& memory_;
  std::span<ChunkCounter> counters_;
  std::span<ReadyPlace> queue_;
};

}  // namespace scavenger::ps
