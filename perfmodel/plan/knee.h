// The knee of a curve: where going on stops to pay (Satopaa et al. 2011, "Kneedle").
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace scavenger::perfmodel {

enum class Curvature { kConvex, kConcave };
enum class Direction { kIncreasing, kDecreasing };

// Index into the curve, whose x must increase strictly. `sensitivity` is Kneedle's S: how far the
// difference curve must fall after its maximum, in mean steps of x, before that counts as a knee.
// Nothing where no maximum qualifies, where there are fewer than three points, or where the curve
// is flat. Semantics as in kneed 0.8.6 (offline, no smoothing).
std::optional<std::size_t> kneedle(std::span<const double> x, std::span<const double> y,
                                   Curvature curvature, Direction direction, double sensitivity);

struct Knee {
  std::size_t index = 0;
  bool by_kneedle = true;  // otherwise: the largest distance from the chord
  bool was_certain =
      true;  // otherwise: the errors leave others as good, of which it is the cheapest
};

// The knee of a cost-over-time curve (convex, decreasing). Kneedle with S = 0; where that finds
// none, the point farthest below the chord from first to last. Nothing where no point lies below
// the chord, or with fewer than four points: the one inner point of three is no evidence of a bend.
//
// `relative_errors`: standard errors of ln(time), alike in cost, which is time x price; empty:
// none. A smooth model's curve hardly bends more at one point than at the next, and its errors
// decide which is the knee. Of the points whose distance from the chord is within one standard
// error of the knee's, the one with the smallest time x cost is taken.
std::optional<Knee> cost_time_knee(std::span<const double> time, std::span<const double> cost,
                                   std::span<const double> relative_errors = {});

}  // namespace scavenger::perfmodel
