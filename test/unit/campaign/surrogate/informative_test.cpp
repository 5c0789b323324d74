#include "campaign/surrogate/informative.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "campaign/surrogate/selection.h"
#include "campaign/surrogate/training.h"
#include "test/unit/campaign/surrogate/invented_space.h"

namespace scavenger::surrogate {
namespace {

using Points = std::vector<std::vector<double>>;
using Indices = std::vector<std::size_t>;

Points line(std::size_t count) {
  Points points;
  for (std::size_t i = 0; i < count; ++i)
    points.push_back({2.0 * static_cast<double>(i) / static_cast<double>(count - 1) - 1.0});
  return points;
}

// All of them candidates, and places with as much unknown at each.
Unsimulated all_of(const Points& points) {
  return {.candidates = points,
          .scores = std::vector<double>(points.size(), 1.0),
          .simulated = {},
          .busy = {},
          .places = points,
          .unknown = std::vector<double>(points.size(), 1.0)};
}

const CorrelationOfPoints kProcess({0.5}, 1e-3);

}  // namespace

TEST_CASE("lengths follow how fast profiles change with each parameter") {
  Points units, profiles;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j) {
      const double a = i / 2.5 - 1.0, b = j / 1.5 - 1.0;
      units.push_back({a, b, 0.0});  // the third has one value
      profiles.push_back({std::sin(4.0 * a) + b, std::cos(4.0 * a) * (2.0 + 0.2 * b)});
    }
  const CorrelationOfPoints fitted(units, profiles);
  CHECK(fitted.lengths()[0] < 0.3 * fitted.lengths()[1]);
  CHECK(fitted.lengths()[2] >= fitted.lengths()[1]);
  CHECK(fitted.noise() < 1e-3);
}

TEST_CASE("noise is told from what parameters do") {
  Points units, profiles;
  for (int i = 0; i < 24; ++i) {
    units.push_back({i / 11.5 - 1.0});
    profiles.push_back({std::sin(3.0 * units.back()[0]) + (i % 2 == 0 ? 0.2 : -0.2)});
  }
  CHECK(CorrelationOfPoints(units, profiles).noise() > 1e-3);
  // Profiles that are all the same say nothing, and are no failure.
  const CorrelationOfPoints flat(units, Points(24, {1.0, 2.0}));
  CHECK(std::isfinite(flat.lengths()[0]));
}

TEST_CASE("the next point tells about many others, and not about what is known") {
  Unsimulated points = all_of(line(9));
  points.simulated = {{-1.0}, {0.0}};
  const Indices first = most_informative(kProcess, points, 1);
  REQUIRE(first.size() == 1);
  CHECK(points.candidates[first[0]][0] > 0.0);  // the half where nothing was simulated
  // At the same uncertainty an edge tells less than what lies amid others.
  points.simulated = {{-1.0}, {0.0}, {0.75}};
  CHECK(most_informative(kProcess, points, 1) != Indices{8});
  // Points that are being simulated count as known.
  points.simulated = {{-1.0}, {0.0}};
  points.busy = {points.candidates[first[0]]};
  CHECK(most_informative(kProcess, points, 1) != first);
}

TEST_CASE("what is not known decides which places count") {
  Unsimulated points = all_of(line(9));
  points.simulated = {{0.0}};
  points.unknown = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0};
  CHECK(most_informative(kProcess, points, 1) == Indices{7});
  points.unknown = {0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  CHECK(most_informative(kProcess, points, 1) == Indices{1});
}

TEST_CASE("each candidate is chosen once, and no more than there are") {
  Unsimulated points = all_of(line(7));
  points.simulated = {{0.0}};
  const Indices chosen = most_informative(kProcess, points, 20);
  CHECK(std::set(chosen.begin(), chosen.end()).size() == 7);
  CHECK(chosen.size() == 7);
  points.candidates.clear();
  CHECK(most_informative(kProcess, points, 3).empty());
}

TEST_CASE("without lengths the most uncertain points are next") {
  Unsimulated points = all_of(line(5));
  points.scores = {1.0, 8.0, 9.0, 7.0, 2.0};
  points.simulated = {{0.2}, {-0.2}};
  CHECK(next_points(std::nullopt, points, 2) ==
        most_uncertain(points.candidates, points.scores, {}, 2, 2));
  CHECK(next_points(kProcess, points, 2) == most_informative(kProcess, points, 2));
}

TEST_CASE("in a large space only the most uncertain candidates are compared") {
  Unsimulated points = all_of(line(3000));
  points.places = line(20);
  points.unknown.assign(20, 1.0);
  points.simulated = {{-1.0}, {1.0}};
  for (std::size_t i = 0; i < points.scores.size(); ++i) points.scores[i] = i < 2000 ? 0.0 : 1.0;
  for (const std::size_t index : next_points(kProcess, points, 4)) CHECK(index >= 2000);
  CHECK(sampled_places(3000, 1).size() < 1000);
  CHECK(sampled_places(3000, 1) == sampled_places(3000, 1));
  CHECK(sampled_places(10, 1).size() == 10);
}

TEST_CASE("networks see parameters in lengths, those that were kept if there are such") {
  std::vector<Sample> samples;
  const Points points = invented_points(4);
  for (const auto& point : points) samples.push_back(invented_sample(point));
  FitSettings settings;
  const Encoding fitted = encode(UnitSpace(points), samples, settings);
  REQUIRE(fitted.lengths);
  settings.known_lengths.emplace(std::vector<double>{1.0, 4.0}, 0.01);
  const Encoding known = encode(UnitSpace(points), samples, settings);
  CHECK(known.inputs(std::vector<double>{-1.0, 1.0}) == std::vector<double>{-1.0, 0.25});
  CHECK(known.set.x[1] == Approx(0.25 * UnitSpace(points).to_unit(points[0])[1]));
  settings.in_lengths = false;
  const Encoding plain = encode(UnitSpace(points), samples, settings);
  CHECK_FALSE(plain.lengths);
  CHECK(plain.inputs(std::vector<double>{-1.0, 1.0}) == std::vector<double>{-1.0, 1.0});
  // Too few to say.
  samples.resize(5);
  settings = {};
  CHECK_FALSE(encode(UnitSpace(points), samples, settings).lengths);
}

}  // namespace scavenger::surrogate
