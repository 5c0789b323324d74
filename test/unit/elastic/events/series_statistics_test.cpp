#include "elastic/events/series_statistics.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

namespace scavenger::elastic {
namespace {

double exact_quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace

TEST_CASE("Quantiles are within the stated relative error of the exact ones") {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> iteration_seconds(-3.0, 1.5);
  for (const std::size_t count : {1u, 2u, 17u, 1000u, 100000u}) {
    QuantileSketch sketch;
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(iteration_seconds(random));
      sketch.add(values.back());
    }

    for (const double q : {0.0, 0.05, 0.5, 0.95, 1.0}) {
      const double exact = exact_quantile(values, q);
      INFO(count << " values, quantile " << q);
      CHECK(std::abs(sketch.quantile(q) - exact) <=
            1.000001 * QuantileSketch::kRelativeError * exact);
    }
  }
}

TEST_CASE("Values outside of the sketch's range count at its ends") {
  QuantileSketch sketch;
  for (const double value : {-1.0, 0.0, 1e-9, 1e300, 1e300}) sketch.add(value);

  CHECK(sketch.quantile(0.0) == 0.0);
  CHECK(sketch.quantile(0.5) == 0.0);
  CHECK(sketch.quantile(1.0) == Approx(QuantileSketch::kLargest).epsilon(0.005));
}

TEST_CASE("An empty sketch answers zero") {
  CHECK(QuantileSketch().quantile(0.5) == 0.0);
}

TEST_CASE("Mean, deviation and standard error are the textbook's") {
  RunningMoments moments;
  for (const double value : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) moments.add(value);

  CHECK(moments.mean() == Approx(5.0));
  CHECK(moments.standard_deviation() == Approx(std::sqrt(32.0 / 7.0)));
  CHECK(moments.standard_error() == Approx(std::sqrt(32.0 / 7.0 / 8.0)));
}

TEST_CASE("The deviation of values far from zero does not drown in rounding") {
  RunningMoments moments;
  for (int i = 0; i < 1000; ++i) moments.add(1e9 + (i % 2 == 0 ? 0.5 : -0.5));

  CHECK(moments.standard_deviation() == Approx(0.5).epsilon(1e-3));
}

TEST_CASE("One value has no standard error, and no value no mean") {
  RunningMoments moments;
  CHECK(moments.mean() == 0.0);

  moments.add(3.0);
  moments.add(std::nan(""));

  CHECK(moments.mean() == 3.0);
  CHECK(moments.count() == 1);
  CHECK(moments.standard_error() == 0.0);
}

TEST_CASE("A series keeps its exact extremes and leaves out what is not finite") {
  SeriesStatistics series;
  for (const double value : {0.3, std::nan(""), 0.1, 0.2, std::numeric_limits<double>::infinity()})
    series.add(value);

  CHECK(series.moments().count() == 3);
  CHECK(series.minimum() == 0.1);
  CHECK(series.maximum() == 0.3);
  CHECK(series.moments().mean() == Approx(0.2));
}

TEST_CASE("A robust mean leaves pauses out and says how many there were") {
  SeriesStatistics series;
  for (int i = 0; i < 100; ++i) series.add(0.1 + 0.0001 * (i % 10));
  series.add(5.0);
  series.add(7.0);

  const RobustMean robust = series.robust_mean();

  CHECK(robust.outliers == 2);
  CHECK(robust.mean == Approx(0.10045).epsilon(0.005));
  CHECK(robust.standard_error < 0.0001);
  CHECK(series.moments().mean() > 0.2);
}

TEST_CASE("Without outliers the robust mean is the mean") {
  SeriesStatistics series;
  CHECK(series.robust_mean().mean == 0.0);
  for (int i = 0; i < 50; ++i) series.add(1.0 + 0.01 * i);
  CHECK(series.robust_mean().outliers == 0);
  CHECK(series.robust_mean().mean == series.moments().mean());
  CHECK(series.robust_mean().standard_error == series.moments().standard_error());
}

TEST_CASE("Merged statistics are those of all values together") {
  SeriesStatistics together, first, second, none;
  for (int i = 1; i <= 300; ++i) {
    const double value = 0.001 * i * (i % 7 + 1);
    together.add(value);
    (i % 3 == 0 ? first : second).add(value);
  }
  first.merge(none);
  first.merge(second);
  none.merge(first);

  for (const SeriesStatistics* merged : {&first, &none}) {
    CHECK(merged->moments().count() == 300);
    CHECK(merged->moments().mean() == Approx(together.moments().mean()));
    CHECK(merged->moments().standard_error() == Approx(together.moments().standard_error()));
    CHECK(merged->minimum() == together.minimum());
    CHECK(merged->maximum() == together.maximum());
    for (const double q : {0.0, 0.05, 0.5, 0.95, 1.0})
      CHECK(merged->quantile(q) == together.quantile(q));
  }
}

}  // namespace scavenger::elastic
