#include "elastic/control/work_progress.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

// A grant lasts about this long, so that workers never wait for the controller, and a boundary that
// somebody asks for is never far.
constexpr double kGrantSeconds = 0.25;
constexpr std::uint64_t kSmallestGrant = 2;
// Of a look, which may end at any iteration.
constexpr double kShortGrantSeconds = 0.05;
constexpr std::uint64_t kSmallestShortGrant = 1;

}  // namespace

std::uint64_t WorkProgress::furthest() const {
  std::uint64_t reached = done_;
  for (const std::uint64_t done : done_by_rank_) reached = std::max(reached, done);
  return reached;
}

std::vector<std::uint32_t> WorkProgress::ranks_behind() const {
  std::vector<std::uint32_t> behind;
  for (std::uint32_t rank = 0; rank < done_by_rank_.size(); ++rank)
    if (done_by_rank_[rank] == done_) behind.push_back(rank);
  return behind;
}

void WorkProgress::begin_membership(std::size_t workers) {
  done_by_rank_.assign(workers, done_);
  behind_.reset();
}

void WorkProgress::report_halted(std::uint32_t rank, std::uint64_t count) {
  SCAVENGER_CHECK(rank < done_by_rank_.size());
  done_by_rank_[rank] = std::max(done_by_rank_[rank], count);
  behind_.reset();
}

bool WorkProgress::report(std::uint32_t rank, std::uint64_t count, double now_seconds) {
  SCAVENGER_CHECK(rank < done_by_rank_.size());
  std::uint64_t& own = done_by_rank_[rank];
  // K reports of one iteration need not look at all K ranks each.
  const bool gets_ahead = own <= done_ && count > done_;
  own = std::max(own, count);
  if (behind_ && gets_ahead) --*behind_;
  if (!behind_)
    behind_ = std::ranges::count_if(done_by_rank_, [this](auto done) { return done <= done_; });
  if (*behind_ > 0) return false;
  const std::uint64_t done = *std::min_element(done_by_rank_.begin(), done_by_rank_.end());
  behind_.reset();
  const double seconds = (now_seconds - moved_seconds_) / static_cast<double>(done - done_);
  iteration_seconds_ =
      iteration_seconds_ == 0.0 ? seconds : 0.7 * iteration_seconds_ + 0.3 * seconds;
  moved_seconds_ = now_seconds;
  done_ = done;
  return true;
}

std::optional<std::uint64_t> WorkProgress::extend_grant(std::uint64_t boundary,
                                                        GrantLength length) {
  const bool is_short = length == GrantLength::kShort;
  const double seconds = is_short ? kShortGrantSeconds : kGrantSeconds;
  std::uint64_t window = is_short ? kSmallestShortGrant : kSmallestGrant;
  if (iteration_seconds_ > 0.0)
    window =
        std::max(window, static_cast<std::uint64_t>(std::min(1e6, seconds / iteration_seconds_)));
  const std::uint64_t until = std::min(boundary, done_ + window);
  // Not for every iteration, but before the workers run dry.
  if (until <= granted_ || (granted_ > done_ && granted_ - done_ > window / 2)) return std::nullopt;
  granted_ = until;
  return granted_;
}

}  // namespace scavenger::elastic
