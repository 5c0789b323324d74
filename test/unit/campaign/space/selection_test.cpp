#include "campaign/space/selection.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <span>

namespace scavenger::campaign {
namespace {

Space grid(int side) {
  ParameterConfig axis{{}, {0.0, static_cast<double>(side - 1)}, 1.0};
  return Space({{"x", axis}, {"y", axis}});
}

std::vector<PointIndex> first_of(const Space& space, const SelectionConfig& selection,
                                 std::uint64_t seed, std::size_t count) {
  PointOrder order(space, selection, seed);
  std::vector<PointIndex> points;
  for (std::size_t i = 0; i < count; ++i) {
    points.push_back(*order.next());
    order.take(points.back());
  }
  return points;
}

// The largest distance of a point of the space to the nearest chosen one.
double covering_radius(const Space& space, const std::vector<PointIndex>& chosen) {
  double worst = 0.0;
  for (PointIndex point = 0; point < space.size(); ++point) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const PointIndex other : chosen) {
      const auto a = space.unit_values_at(point);
      const auto b = space.unit_values_at(other);
      nearest = std::min(nearest, std::hypot(a[0] - b[0], a[1] - b[1]));
    }
    worst = std::max(worst, nearest);
  }
  return worst;
}

// If each distance looked at all values of the parameter, this would take days.
TEST_CASE("A parameter may have a million values", "[selection]") {
  const Space space({{"x", {{}, {1.0, 1e6}, 1.0}}});
  const std::vector<PointIndex> points = first_of(space, {}, 1, 3);
  const auto [least, most] = std::ranges::minmax(std::span(points).subspan(1));
  CHECK((points[1] == 0 || points[1] == 999999));
  CHECK(most - least > 300000);
}

TEST_CASE("Each point is chosen once, those of the holdout first", "[selection]") {
  const Space space = grid(5);
  for (const SelectionRule rule : {SelectionRule::kRandom, SelectionRule::kSpaceFilling}) {
    const SelectionConfig selection{4, rule};
    const auto points = first_of(space, selection, 3, 25);
    CHECK(std::set<PointIndex>(points.begin(), points.end()).size() == 25);
    const PointOrder order(space, selection, 3);
    CHECK(std::vector<PointIndex>(points.begin(), points.begin() + 4) == order.holdout());
    CHECK(order.is_holdout(points[0]));
    CHECK(!order.is_holdout(points[4]));
  }
}

TEST_CASE("The order follows from the seed", "[selection]") {
  const Space space = grid(5);
  const SelectionConfig random{0, SelectionRule::kRandom};
  CHECK(first_of(space, random, 1, 25) == first_of(space, random, 1, 25));
  CHECK(first_of(space, random, 1, 25) != first_of(space, random, 2, 25));
}

TEST_CASE("Space-filling points cover the space better than random ones", "[selection]") {
  const Space space = grid(11);
  double filling = 0.0;
  double random = 0.0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    filling += covering_radius(space, first_of(space, {0, SelectionRule::kSpaceFilling}, seed, 12));
    random += covering_radius(space, first_of(space, {0, SelectionRule::kRandom}, seed, 12));
  }
  CHECK(filling < 0.8 * random);
}

TEST_CASE("With no point left there is none", "[selection]") {
  const Space space = grid(2);
  PointOrder order(space, {1, SelectionRule::kSpaceFilling}, 1);
  while (order.left() > 0) order.take(*order.next());
  CHECK(!order.next());
}

}  // namespace
}  // namespace scavenger::campaign
