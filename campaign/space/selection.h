// Chooses the points that are simulated next. Pure: the same seed and the same questions give the
// same points.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "campaign/space/space.h"

namespace scavenger::campaign {

// The points in an order that does not look at results; that of kUncertainty fills the space, until
// a surrogate has advice.
class PointOrder final {
 public:
  // `space` must outlive it.
  PointOrder(const Space& space, const SelectionConfig& selection, std::uint64_t seed);

  // The holdout, in ascending order: points that are simulated to test predictions.
  const std::vector<PointIndex>& holdout() const { return holdout_; }
  bool is_holdout(PointIndex point) const;

  // The next point that was not taken yet: those of the holdout first. Nothing if none is left.
  std::optional<PointIndex> next() const;
  // Nobody takes this point any more, whoever chose it.
  void take(PointIndex point);
  bool is_taken(PointIndex point) const { return taken_[point]; }
  std::size_t left() const { return left_; }

 private:
  std::optional<PointIndex> next_of_holdout() const;
  std::optional<PointIndex> next_random() const;
  std::optional<PointIndex> next_farthest() const;

  const Space& space_;
  const SelectionRule rule_;
  std::vector<PointIndex> order_;  // random
  std::vector<PointIndex> holdout_;
  std::vector<bool> taken_;
  std::size_t left_ = 0;
  // For each point the squared distance to the nearest taken one, in unit coordinates.
  std::vector<double> sqr_distance_;
};

}  // namespace scavenger::campaign
