// Puts together what the workers report about the same iterations. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elastic/report/event.h"
#include "runtime/protocol/control_message.h"
#include "runtime/training/membership.h"

namespace scavenger::elastic {

// Workers report in batches of their own, so one may be ahead of another; iterations come out, in
// order, when all workers have reported them.
class IterationMerge final {
 public:
  explicit IterationMerge(Membership membership);

  // Throws ProtocolError for a gap, a repetition, or vectors of unequal length.
  void add(std::uint32_t rank, const IterationStats& stats);
  // How many iterations of the job this worker has reported: the index of its next one.
  std::uint64_t reported(std::uint32_t rank) const;
  // What is complete and was not taken before.
  std::optional<fact::Iterations> take();

 private:
  Membership membership_;
  std::vector<IterationStats> pending_;  // by rank, each starting at next_
  std::uint64_t next_;                   // the first iteration that was not taken
};

}  // namespace scavenger::elastic
