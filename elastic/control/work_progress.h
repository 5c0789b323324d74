// How far the workers of a membership are, and how far they may go: the controller grants
// iterations ahead, so that workers never wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace scavenger::elastic {

// How long a grant lasts: long enough that workers never wait for the controller, or so short that
// they stop after one iteration, or a few quick ones.
enum class GrantLength { kUsual, kShort };

// Pure. Iterations are counted from the start of the job; times are seconds of one clock.
class WorkProgress final {
 public:
  explicit WorkProgress(std::uint64_t first_iteration)
      : done_(first_iteration), granted_(first_iteration) {}

  // Iterations that all workers have finished.
  std::uint64_t done() const { return done_; }
  // Iterations that workers may do.
  std::uint64_t granted() const { return granted_; }
  // Returns whether all that was granted is done: the workers stand at a boundary.
  bool is_at_rest() const { return done_ == granted_; }
  // Returns the most iterations that any worker has finished.
  std::uint64_t furthest() const;
  // Returns the ranks that have finished no iteration beyond done().
  std::vector<std::uint32_t> ranks_behind() const;
  // Returns how long ago done() last grew, or training went on.
  double seconds_without_progress(double now_seconds) const { return now_seconds - moved_seconds_; }
  // Returns about how long the granted iterations take; 0 if no iteration was timed yet.
  double granted_seconds() const {
    return static_cast<double>(granted_ - done_) * iteration_seconds_;
  }

  // The job goes on from this iteration, with nothing granted.
  void go_on_from(std::uint64_t iteration) { done_ = granted_ = iteration; }
  // Another membership begins; its iterations may take another time.
  void forget_pace() { iteration_seconds_ = 0.0; }
  void begin_membership(std::size_t workers);
  // The time until now was none of training's.
  void begin_timing(double now_seconds) { moved_seconds_ = now_seconds; }

  // A worker has finished `count` iterations. Returns whether all have finished more than before.
  bool report(std::uint32_t rank, std::uint64_t count, double now_seconds);
  // The same while the workers are halted: done() does not change, since where the job goes on
  // depends on what the shards hold.
  void report_halted(std::uint32_t rank, std::uint64_t count);
  // Grants more iterations, but none beyond `boundary`. Returns the new granted(); nothing if the
  // workers have enough to do.
  std::optional<std::uint64_t> extend_grant(std::uint64_t boundary,
                                            GrantLength length = GrantLength::kUsual);

 private:
  std::uint64_t done_;
  std::uint64_t granted_;
  std::vector<std::uint64_t> done_by_rank_;
  std::optional<std::ptrdiff_t> behind_;  // ranks that have done no more than done_, if counted
  double moved_seconds_ = 0.0;
  double iteration_seconds_ = 0.0;  // smoothed; 0: not known
};

}  // namespace scavenger::elastic
