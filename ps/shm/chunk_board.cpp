#include "ps/shm/chunk_board.h"

#include "runtime/base/check.h"

namespace scavenger::ps {
namespace {

constexpr unsigned kChunkBits = 32;

}  // namespace

ChunkBoard::ChunkBoard(BoardMemory& memory, std::span<ChunkCounter> counters,
                       std::span<ReadyPlace> queue)
    : memory_(memory), counters_(counters), queue_(queue) {
  SCAVENGER_CHECK(counters.size() == queue.size() && !queue.empty());
}

void ChunkBoard::begin_membership(std::uint64_t iteration, std::uint32_t ranks) {
  memory_.first_iteration = iteration;
  memory_.ranks = ranks;
  memory_.chunks = static_cast<std::uint32_t>(queue_.size());
  for (ChunkCounter& counter : counters_) {
    counter.contributions = 0;
    counter.stepped = 0;
  }
  for (ReadyPlace& place : queue_) place.turn_and_chunk = 0;
  memory_.ready = 0;
  memory_.taken = 0;
  memory_.stepped = 0;
  memory_.iteration.store(iteration, std::memory_order_seq_cst);
  announce();
}

void ChunkBoard::contribute(std::uint64_t iteration, std::uint32_t chunk) {
  if (iteration != this->iteration()) return;
  const std::uint64_t complete = turn(iteration) * memory_.ranks;
  std::atomic<std::uint64_t>& count = counters_[chunk].contributions;
  if (count.fetch_add(1, std::memory_order_acq_rel) + 1 < complete) return;
  const std::uint64_t place = memory_.ready.fetch_add(1, std::memory_order_relaxed);
  queue_[place % queue_.size()].turn_and_chunk.store(turn(iteration) << kChunkBits | chunk,
                                                     std::memory_order_release);
}

std::optional<std::uint32_t> ChunkBoard::take(std::uint64_t iteration) {
  if (iteration != this->iteration()) return std::nullopt;
  const std::uint64_t chunks = queue_.size();
  std::uint64_t place = memory_.taken.load(std::memory_order_relaxed);
  while (place < turn(iteration) * chunks) {
    const std::uint64_t entry =
        queue_[place % chunks].turn_and_chunk.load(std::memory_order_acquire);
    if (entry >> kChunkBits != place / chunks + 1) return std::nullopt;  // not ready yet
    const auto chunk = static_cast<std::uint32_t>(entry);
    if (chunk >= chunks) return std::nullopt;  // not a value that a worker writes
    // The entry already synchronises with the writes of all ranks. This load does, too, and
    // ThreadSanitizer recognises it even if another process has written the entry.
    static_cast<void>(counters_[chunk].contributions.load(std::memory_order_acquire));
    if (memory_.taken.compare_exchange_weak(place, place + 1, std::memory_order_relaxed))
      return chunk;
  }
  return std::nullopt;
}

void ChunkBoard::note_stepped(std::uint64_t iteration, std::uint32_t chunk) {
  if (iteration != this->iteration()) return;
  counters_[chunk].stepped.store(turn(iteration), std::memory_order_release);
}

bool ChunkBoard::is_stepped(std::uint64_t iteration, std::uint32_t chunk) const {
  return counters_[chunk].stepped.load(std::memory_order_acquire) >= turn(iteration);
}

bool ChunkBoard::finish(std::uint64_t iteration) {
  if (iteration != this->iteration()) return false;
  const std::uint64_t all = turn(iteration) * queue_.size();
  if (memory_.stepped.fetch_add(1, std::memory_order_acq_rel) + 1 < all) return false;
  memory_.iteration.store(iteration + 1, std::memory_order_seq_cst);
  announce();
  return true;
}

std::uint64_t ChunkBoard::waiting_chunks() const {
  const std::uint64_t taken = memory_.taken.load(std::memory_order_relaxed);
  const std::uint64_t ready = memory_.ready.load(std::memory_order_relaxed);
  return ready > taken ? ready - taken : 0;
}

void ChunkBoard::announce() {
  if (memory_.sleepers.load(std::memory_order_seq_cst) == 0) return;
  memory_.news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(memory_.news);
}

}  // namespace scavenger::ps
