#include "campaign/space/selection.h"

#include <algorithm>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger::campaign {

PointOrder::PointOrder(const Space& space, const SelectionConfig& selection, std::uint64_t seed)
    : space_(space),
      rule_(selection.rule),
      taken_(space.size(), false),
      left_(space.size()),
      sqr_distance_(space.size(), std::numeric_limits<double>::infinity()) {
  const auto size = static_cast<std::uint32_t>(space.size());
  RandomStream order_stream(seed, "campaign order");
  order_ = permutation(order_stream, size);
  RandomStream holdout_stream(seed, "campaign holdout");
  holdout_ = permutation(holdout_stream, size);
  holdout_.resize(std::min<std::size_t>(selection.holdout, size));
  std::ranges::sort(holdout_);
}

bool PointOrder::is_holdout(PointIndex point) const {
  return std::ranges::binary_search(holdout_, point);
}

std::optional<PointIndex> PointOrder::next() const {
  if (left_ == 0) return std::nullopt;
  if (const auto held_out = next_of_holdout()) return held_out;
  return rule_ == SelectionRule::kRandom ? next_random() : next_farthest();
}

std::optional<PointIndex> PointOrder::next_of_holdout() const {
  const auto found =
      std::ranges::find_if(holdout_, [&](PointIndex point) { return !taken_[point]; });
  return found == holdout_.end() ? std::nullopt : std::optional(*found);
}

std::optional<PointIndex> PointOrder::next_random() const {
  const auto found = std::ranges::find_if(order_, [&](PointIndex point) { return !taken_[point]; });
  return found == order_.end() ? std::nullopt : std::optional(*found);
}

// Of equally far points, the one that comes first in the random order.
std::optional<PointIndex> PointOrder::next_farthest() const {
  std::optional<PointIndex> best;
  for (const PointIndex point : order_)
    if (!taken_[point] && (!best || sqr_distance_[point] > sqr_distance_[*best])) best = point;
  return best;
}

void PointOrder::take(PointIndex point) {
  SCAVENGER_CHECK(point < taken_.size() && !taken_[point]);
  taken_[point] = true;
  --left_;
  if (rule_ == SelectionRule::kRandom) return;
  for (PointIndex other = 0; other < taken_.size(); ++other)
    if (!taken_[other])
      sqr_distance_[other] = std::min(sqr_distance_[other], space_.sqr_distance(other, point));
}

}  // namespace scavenger::campaign
