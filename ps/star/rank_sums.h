// Adds up what the ranks of a group bring, round by round, in the order of ranks. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "ps/core/float_buffer.h"

namespace scavenger::ps {

// Thread: one at a time.
class RankSums final {
 public:
  // Shared by all that send it.
  using Sum = std::shared_ptr<const FloatBuffer>;

  explicit RankSums(std::uint32_t ranks);

  // Takes what `rank` brings to its next round; an empty part counts as zeros. Returns the sum if
  // this was the round's last part, and null otherwise. So a rank alone brings what all are to get,
  // and nobody brings anything to a round that only waits for all. Throws ProtocolError if the
  // parts of a round have different sizes, or if the rank is too far ahead of others.
  Sum bring(std::uint32_t rank, FloatBuffer part);

 private:
  struct Round {
    std::vector<FloatBuffer> parts;
    std::uint32_t missing = 0;
  };

  static Sum sum_of(Round& round);

  std::uint32_t ranks_;
  std::uint64_t first_ = 0;             // number of rounds_.front()
  std::vector<std::uint64_t> brought_;  // rounds, by rank
  std::deque<Round> rounds_;
};

}  // namespace scavenger::ps
