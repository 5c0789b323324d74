// Puts together what the workers report about the same iterations. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elastic/events/event.h"
#include "runtime/protocol/control_message.h"
#include "runtime/training/membership.h"

namespace scavenger::elastic {

// Workers report in batches of their own, so one may be ahead of another; iterations come out, in
// order and each once, when all workers have reported them, or at the end of the membership.
class IterationMerge final {
 public:
  explicit IterationMerge(Membership membership);

  // Iterations below `until` may be reported, until the end of the membership. None before.
  void allow(std::uint64_t until) { allowed_ = until; }
  // Throws ProtocolError for a gap, a repetition, vectors of unequal length, or iterations that
  // nobody was allowed to do.
  void add(std::uint32_t rank, const IterationStats& stats);
  // How many iterations of the job this worker has reported: the index of its next one.
  std::uint64_t reported(std::uint32_t rank) const;
  // What is complete and was not taken before.
  std::optional<fact::Iterations> take();

  std::uint64_t allowed() const { return allowed_; }
  // How many iterations of the job all workers have reported.
  std::uint64_t least_reported() const;
  // How many iterations of the job any worker has reported.
  std::uint64_t most_reported() const;
  // The end of the membership: all iterations below `until` that were not taken before. They are
  // done, but a worker that was lost, or interrupted in the last one, has not reported them: each
  // series is of those that have, and not a number where nobody has. What was reported beyond
  // `until` is forgotten.
  std::vector<fact::Iterations> close(std::uint64_t until);
  void begin(Membership membership);

 private:
  void count_behind();
  fact::Iterations merge(std::size_t count, const std::vector<std::uint32_t>& ranks);
  void take_half_batches(IterationStats& pending, fact::Iterations& merged) const;

  Membership membership_;
  std::vector<IterationStats> pending_;  // by rank, each starting at next_
  std::uint64_t next_;                   // the first iteration that was not taken
  std::uint64_t allowed_;                // iterations below this may have been done
  // The fewest pending iterations of a rank, and how many ranks have no more: each report would
  // otherwise look at all K ranks.
  std::size_t least_ = 0;
  std::size_t behind_ = 0;
};

}  // namespace scavenger::elastic
