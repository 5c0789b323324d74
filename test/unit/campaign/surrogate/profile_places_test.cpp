#include "campaign/surrogate/profile_places.h"

#include <catch2/catch.hpp>

namespace scavenger::surrogate {
namespace {

using Rows = std::vector<std::vector<double>>;

Rows places_of(const Rows& parameters, double (*place)(const std::vector<double>&, int)) {
  Rows all;
  for (const auto& one : parameters) all.push_back({place(one, 0), place(one, 1), place(one, 2)});
  return all;
}

}  // namespace

TEST_CASE("The places of a profile follow the width of its gap") {
  const Rows parameters = {{2.0, 0.1}, {3.0, 0.5}, {4.0, 0.2}, {2.5, 0.1}};
  const auto in_gap = [](const std::vector<double>& one, int i) { return one[0] * (i - 1) / 2.0; };
  const ProfilePlaces places(UnitSpace(parameters), parameters, places_of(parameters, in_gap));
  const std::vector<double> asked = places.at(std::vector{3.4, 0.3});
  REQUIRE(asked.size() == 3);
  CHECK(asked[0] == Approx(-1.7));
  CHECK(asked[1] == Approx(0.0).margin(1e-9));
  CHECK(asked[2] == Approx(1.7));
}

TEST_CASE("Places that never move stay exactly what they are") {
  const Rows parameters = {{2.0}, {3.0}};
  const ProfilePlaces places(UnitSpace(parameters), parameters, {{0.1, 0.2}, {0.1, 0.2}});
  CHECK(places.at(std::vector{2.2}) == std::vector{0.1, 0.2});
}

TEST_CASE("A parameter that all profiles share does not matter, nor does a single profile") {
  const Rows parameters = {{2.0, 7.0}, {4.0, 7.0}};
  const ProfilePlaces places(UnitSpace(parameters), parameters, {{2.0, 4.0}, {4.0, 8.0}});
  CHECK(places.at(std::vector{3.0, 7.0})[1] == Approx(6.0));
  const Rows one = {{2.0, 7.0}};
  CHECK(ProfilePlaces(UnitSpace(one), one, {{1.0, 5.0}}).at(one[0]) == std::vector{1.0, 5.0});
}

TEST_CASE("Places that move in another way are those of the nearest profile") {
  const Rows parameters = {{1.0}, {2.0}, {3.0}, {4.0}};
  const ProfilePlaces places(UnitSpace(parameters), parameters,
                             {{0.0, 1.0}, {0.0, 4.0}, {0.0, 9.0}, {0.0, 16.0}});
  CHECK(places.at(std::vector{2.9}) == std::vector{0.0, 9.0});
}

}  // namespace scavenger::surrogate
