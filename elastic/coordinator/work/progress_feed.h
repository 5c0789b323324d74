// What the workers of a membership report of their iterations, and what of it the controller hears.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "elastic/coordinator/work/iteration_merge.h"
#include "runtime/base/clock.h"

namespace scavenger::elastic {

// Thread: the event loop's.
class ProgressFeed final {
 public:
  // Tells the controller that a rank has done so many iterations, at that time; returns whether it
  // answered.
  using Feed = std::function<bool(std::uint32_t rank, std::uint64_t count, double now_seconds)>;
  // What is told: what all workers have done if that is due, or all that is known, also of those
  // that are ahead.
  enum class Detail { kIfDue, kAll };

  // The clock must outlive it.
  ProgressFeed(const Clock& clock, Membership membership, Feed feed)
      : clock_(clock), feed_(std::move(feed)), iterations_(std::move(membership)) {}

  // The iterations of the membership that ends, below `until` if it is given, else as far as they
  // were reported: IterationMerge::close().
  std::vector<fact::Iterations> close(std::optional<std::uint64_t> until);
  void begin(const Membership& membership);
  void allow(std::uint64_t until) { iterations_.allow(until); }
  // Throws ProtocolError as IterationMerge does.
  void add(std::uint32_t rank, const IterationStats& stats) { iterations_.add(rank, stats); }
  // What is complete and was not taken before.
  std::optional<fact::Iterations> take() { return iterations_.take(); }

  // `epoch`: of the controller's membership. If it has another one to come, nothing is told.
  void feed(Detail detail, const std::function<std::uint32_t()>& epoch);
  // Since all workers together were seen to have done more.
  double seconds_since_progress() const { return clock_.now_seconds() - fed_seconds_; }

 private:
  const Clock& clock_;
  const Feed feed_;
  IterationMerge iterations_;
  // What was told.
  std::optional<std::uint32_t> epoch_;
  std::uint64_t fed_ = 0;                   // iterations of all workers
  std::vector<std::uint64_t> fed_by_rank_;  // of those that are ahead
  double fed_seconds_ = 0.0;
};

}  // namespace scavenger::elastic
