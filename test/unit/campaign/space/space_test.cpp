#include "campaign/space/space.h"

#include <catch2/catch.hpp>
#include <set>

namespace scavenger::campaign {
namespace {

ParameterConfig list_of(std::vector<double> values) {
  return {std::move(values), {}, 0.0};
}

TEST_CASE("A range has its last value, and numbers as they were meant", "[space]") {
  CHECK(values_of({{}, {4.0, 5.0}, 0.2}) == std::vector<double>{4.0, 4.2, 4.4, 4.6, 4.8, 5.0});
  CHECK(values_of({{}, {0.0, 1.0}, 0.3}) == std::vector<double>{0.0, 0.3, 0.6, 0.9});
  CHECK(values_of({{}, {2.0, 2.0}, 1.0}) == std::vector<double>{2.0});
  CHECK(values_of({{}, {-0.3, 0.3}, 0.3}) == std::vector<double>{-0.3, 0.0, 0.3});
  CHECK(values_of({{}, {-0.3, 0.0}, 0.1}) == std::vector<double>{-0.3, -0.2, -0.1, 0.0});
  CHECK(values_of({{}, {0.0, 1e-310}, 1e-310}).size() == 2);
}

TEST_CASE("The space has each combination once", "[space]") {
  const Space space({{"a", list_of({1, 2, 3})}, {"b", list_of({10, 20})}});
  CHECK(space.size() == 6);
  std::set<std::vector<double>> seen;
  for (PointIndex point = 0; point < space.size(); ++point) seen.insert(space.values_at(point));
  CHECK(seen.size() == 6);
  CHECK(space.text_at(1) == "a=1, b=20");
  CHECK(space.unit_values_at(5) == std::vector<double>{1.0, 1.0});
}

TEST_CASE("Points are as far apart as their values from 0 to 1", "[space]") {
  const Space space({{"a", list_of({1, 2, 3})}, {"b", list_of({10, 20})}, {"c", list_of({7})}});
  CHECK(space.sqr_distance(0, 5) == 2.0);
  CHECK(space.sqr_distance(1, 3) == 0.25);
  CHECK(space.sqr_distance(4, 4) == 0.0);
}

TEST_CASE("A parameter with one value has no extent", "[space]") {
  const Space space({{"a", list_of({7})}});
  CHECK(space.unit_values_at(0) == std::vector<double>{0.0});
}

TEST_CASE("A space is too large before its points are made", "[space]") {
  const ParameterConfig thousand{{}, {1.0, 1000.0}, 1.0};
  CHECK(is_space_small_enough({{"a", thousand}, {"b", thousand}}));
  CHECK(!is_space_small_enough({{"a", thousand}, {"b", thousand}, {"c", list_of({1, 2})}}));
}

}  // namespace
}  // namespace scavenger::campaign
