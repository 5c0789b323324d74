#include "elastic/history/downsampled_curve.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

namespace scavenger::elastic {
namespace {

void add_values(DownsampledCurve& curve, std::uint64_t first, std::uint64_t count,
                double value = 1.0) {
  for (std::uint64_t i = first; i < first + count; ++i)
    curve.add(i, static_cast<double>(i) / 100.0, static_cast<double>(i) * 0.5, value);
}

std::uint64_t count_of(const DownsampledCurve& curve) {
  std::uint64_t count = 0;
  for (const CurvePoint& point : curve.points()) count += point.count;
  return count;
}

}  // namespace

TEST_CASE("A short curve is kept value by value") {
  DownsampledCurve curve;
  add_values(curve, 1, DownsampledCurve::kMaxPoints, 0.25);

  REQUIRE(curve.points().size() == DownsampledCurve::kMaxPoints);
  CHECK(curve.points()[4] == CurvePoint{.first_iteration = 5,
                                        .last_iteration = 5,
                                        .epoch = 0.05,
                                        .time = 2.5,
                                        .count = 1,
                                        .mean = 0.25,
                                        .minimum = 0.25,
                                        .maximum = 0.25});
}

TEST_CASE("A long curve stays bounded, and its single peak and its single dip survive") {
  DownsampledCurve curve;
  add_values(curve, 0, 123456);
  curve.add(123456, 0.0, 0.0, 99.0);
  add_values(curve, 123457, 300000);
  curve.add(423457, 0.0, 0.0, -5.0);
  add_values(curve, 423458, 576542);

  const auto& points = curve.points();
  CHECK(points.size() <= DownsampledCurve::kMaxPoints);
  CHECK(points.size() > DownsampledCurve::kMaxPoints / 4);
  CHECK(count_of(curve) == 1000000);
  const auto peak =
      std::max_element(points.begin(), points.end(),
                       [](const auto& a, const auto& b) { return a.maximum < b.maximum; });
  const auto dip = std::min_element(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return a.minimum < b.minimum;
  });
  CHECK(peak->maximum == 99.0);
  CHECK((peak->first_iteration <= 123456 && 123456 <= peak->last_iteration));
  CHECK(dip->minimum == -5.0);
  CHECK((dip->first_iteration <= 423457 && 423457 <= dip->last_iteration));
}

TEST_CASE("The points of a long curve tile it without gaps, and their means are the values'") {
  DownsampledCurve curve;
  for (std::uint64_t i = 0; i < 5000; ++i) curve.add(i, 0.0, 0.0, static_cast<double>(i));

  const auto& points = curve.points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const CurvePoint& point = points[i];
    CHECK(point.first_iteration == (i == 0 ? 0 : points[i - 1].last_iteration + 1));
    CHECK(point.mean ==
          Approx(static_cast<double>(point.first_iteration + point.last_iteration) / 2.0));
  }
  CHECK(points.back().last_iteration == 4999);
}

TEST_CASE("Values that are not finite take their place in a curve but not its numbers") {
  DownsampledCurve curve;
  for (std::uint64_t i = 0; i < 4096; ++i) curve.add(i, 0.0, 0.0, i < 2048 ? 3.0 : std::nan(""));

  CHECK(count_of(curve) == 2048);
  CHECK(curve.points().size() <= DownsampledCurve::kMaxPoints);
  CHECK(curve.points().back().last_iteration == 4095);
  CHECK(curve.points().back().count == 0);
  for (const CurvePoint& point : curve.points())
    if (point.count > 0) CHECK(point.mean == 3.0);
}

TEST_CASE("What a resume does again is forgotten") {
  DownsampledCurve curve;
  add_values(curve, 1, 100, 1.0);

  curve.forget_after(60);
  add_values(curve, 61, 10, 2.0);

  REQUIRE(curve.points().size() == 70);
  CHECK(curve.points()[59].mean == 1.0);
  CHECK(curve.points()[60].first_iteration == 61);
  CHECK(curve.points()[60].mean == 2.0);
}

}  // namespace scavenger::elastic
