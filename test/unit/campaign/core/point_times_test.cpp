#include "campaign/core/point_times.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace scavenger::campaign {
namespace {

NamedParameters two_parameters() {
  ParameterConfig c, sigma;
  c.values = {0.1, 0.5, 1, 2};
  sigma.values = {-0.02, -0.01, -0.015};
  return {{"c", c}, {"sigma", sigma}};
}

TEST_CASE("Times that follow a power of a parameter are found", "[point_times]") {
  const Space space(two_parameters());
  const auto truth = [](const std::vector<double>& values) {
    return 100.0 * values[0] * values[0] * std::sqrt(-values[1]);
  };
  std::vector<TimedPoint> timed;
  for (const PointIndex point : {0U, 2U, 4U, 6U, 9U, 11U})
    timed.push_back({space.values_at(point), truth(space.values_at(point))});
  const PointTimes times(space, timed);
  for (PointIndex point = 0; point < space.size(); ++point)
    CHECK(times.seconds(point) == Approx(truth(space.values_at(point))).epsilon(0.01));
  CHECK(times.relative_error() < 0.01);
}

TEST_CASE("A few points tell their mean", "[point_times]") {
  const Space space(two_parameters());
  const PointTimes times(space, {{space.values_at(0), 1.0}, {space.values_at(11), 3.0}});
  CHECK(times.seconds(5) == 2.0);
  CHECK(times.sum_seconds() == Approx(24.0));
  CHECK(times.relative_error() > 0.5);
}

TEST_CASE("Parameters that do not change tell nothing", "[point_times]") {
  ParameterConfig one;
  one.values = {0};
  auto parameters = two_parameters();
  parameters.emplace_back("one", one);
  const Space space(parameters);
  std::vector<TimedPoint> timed;
  for (PointIndex point = 0; point < space.size(); ++point)
    timed.push_back({space.values_at(point), 7.0});
  CHECK(PointTimes(space, timed).seconds(3) == Approx(7.0).epsilon(1e-4));
}

}  // namespace
}  // namespace scavenger::campaign
