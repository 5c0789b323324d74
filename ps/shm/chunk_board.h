// Who has brought what, and who steps what, in an iteration whose gradients lie in shared memory:
// counters that several processes change without locks.
//
// A rank that has a chunk's gradient contributes; with the last rank the chunk is ready and goes
// into a queue. Whoever is free takes a chunk from it and steps it; with the last chunk the
// iteration is done. That is one store, so it has happened or not, whenever a process dies: what it
// had in its hands before is only lost work of an iteration that is then begun anew.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ps/shm/futex.h"

namespace scavenger::ps {

// The counters, as they lie in the segment. All zero is a board at iteration 0 without ranks. Each
// group that different processes write has its own cache line.
struct BoardMemory {
  std::uint64_t first_iteration = 0;  // of the membership; these are written while all are halted
  std::uint32_t ranks = 0;
  std::uint32_t chunks = 0;
  alignas(64) std::atomic<std::uint64_t> iteration{0};  // the first that is not done
  alignas(64) std::atomic<std::uint64_t> ready{0};      // chunks that became ready since then
  alignas(64) std::atomic<std::uint64_t> taken{0};
  alignas(64) std::atomic<std::uint64_t> stepped{0};
  // Changes with whatever somebody may sleep for.
  alignas(64) std::atomic<std::uint32_t> news{0};
  std::atomic<std::uint32_t> sleepers{0};
};

struct alignas(64) ChunkCounter {
  std::atomic<std::uint64_t> contributions{0};  // since the membership's first iteration
};

// Place in the queue: which chunk became ready there, in which iteration, counted from 1 within the
// membership.
struct ReadyPlace {
  std::atomic<std::uint64_t> turn_and_chunk{0};
};

// Thread: any process, any thread, except where said. The memory must outlive it.
class ChunkBoard final {
 public:
  ChunkBoard(BoardMemory& memory, std::span<ChunkCounter> counters, std::span<ReadyPlace> queue);

  // `iteration` is the next one, and `ranks` bring its gradients. Only while nobody else is at the
  // board.
  void begin_membership(std::uint64_t iteration, std::uint32_t ranks);

  // The first iteration that is not done: all that was stepped before it can be read.
  std::uint64_t iteration() const { return memory_.iteration.load(std::memory_order_seq_cst); }

  // In all of these, an iteration that is not the board's changes nothing.
  // One rank's gradient of this chunk is in its place.
  void contribute(std::uint64_t iteration, std::uint32_t chunk);
  // A chunk whose gradients are all there, and that is now the caller's to step.
  std::optional<std::uint32_t> take(std::uint64_t iteration);
  // A taken chunk has been stepped. True where it was the last one.
  bool finish(std::uint64_t iteration);
  // How many may be taken at this moment.
  std::uint64_t waiting_chunks() const;

  // Sleeps until somebody announces something, unless `has_news` says that it has happened; at most
  // `seconds`. Whoever makes news that `has_news` sees, announces it afterwards: then none is
  // missed.
  template <typename HasNews>
  void sleep_unless(const HasNews& has_news, double seconds) {
    memory_.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = memory_.news.load(std::memory_order_seq_cst);
    if (!has_news()) futex_wait(memory_.news, seen, seconds);
    memory_.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
  // Wakes all who sleep, if any.
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
