#include "elastic/coordinator/work/progress_feed.h"

#include <algorithm>

namespace scavenger::elastic {
namespace {

// From one report of progress to the controller to the next, unless workers wait for a grant.
constexpr double kProgressSeconds = 0.025;

}  // namespace

std::vector<fact::Iterations> ProgressFeed::close(std::optional<std::uint64_t> until) {
  return iterations_.close(until.value_or(iterations_.most_reported()));
}

void ProgressFeed::begin(const Membership& membership) {
  iterations_.begin(membership);
  epoch_ = membership.epoch;
  fed_ = membership.first_iteration;
  fed_by_rank_.assign(membership.workers(), membership.first_iteration);
}

// The controller hears of what all workers have done, and not of each report: K workers that report
// twenty times a second would make its log grow with K.
void ProgressFeed::feed(Detail detail, const std::function<std::uint32_t()>& epoch) {
  if (epoch_ != epoch()) return;
  const std::uint64_t done = iterations_.least_reported();
  double now_seconds = clock_.now_seconds();
  const bool is_due = done >= iterations_.allowed() || detail == Detail::kAll ||
                      now_seconds - fed_seconds_ >= kProgressSeconds;
  const auto workers = static_cast<std::uint32_t>(fed_by_rank_.size());
  if (done > fed_ && is_due) {
    fed_ = done;
    fed_seconds_ = now_seconds;
    for (std::uint32_t rank = 0; rank < workers; ++rank) {
      if (feed_(rank, done, now_seconds)) now_seconds = clock_.now_seconds();
      if (epoch_ != epoch()) return;
    }
  }
  if (detail == Detail::kIfDue) return;
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    const std::uint64_t own = iterations_.reported(rank);
    if (own <= std::max(fed_by_rank_[rank], fed_)) continue;
    fed_by_rank_[rank] = own;
    feed_(rank, own, clock_.now_seconds());
  }
}

}  // namespace scavenger::elastic
