#include "campaign/core/segment_length.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/random.h"

namespace scavenger::campaign {
namespace {

TEST_CASE("Segments are multiples, and never empty", "[segment_length]") {
  SegmentQuestion question{
      .from = 0, .steps = 1000, .multiple = 1, .interval_seconds = 5.0, .steps_per_second = 0.0};
  CHECK(segment_end(question) == 15);
  question.multiple = 20;
  CHECK(segment_end(question) == 20);
  question.steps_per_second = 33.0;  // 165 steps
  CHECK(segment_end(question) == 160);
  question.from = 165;  // stopped between two multiples
  CHECK(segment_end(question) == 320);
  question.steps_per_second = 1e-3;
  CHECK(segment_end(question) == 180);
}

TEST_CASE("A small rest is taken along", "[segment_length]") {
  const SegmentQuestion question{.from = 500,
                                 .steps = 1000,
                                 .multiple = 1,
                                 .interval_seconds = 10.0,
                                 .steps_per_second = 45.0};
  CHECK(segment_end(question) == 1000);
}

TEST_CASE("Losses change what is assumed of machines' lives", "[segment_length]") {
  MachineLives lives(36000.0);
  CHECK(lives.survival().mean_life_seconds() == Approx(36000.0));
  lives.add(36000.0, false);
  CHECK(lives.survival().mean_life_seconds() == Approx(72000.0));
  lives.add(0.0, true);
  CHECK(lives.survival().mean_life_seconds() == Approx(36000.0));
  RandomStream stream(1, "lives");
  for (int i = 0; i < 2000; ++i) lives.add(-100.0 * std::log1p(-stream.uniform()), true);
  CHECK(lives.survival().mean_life_seconds() == Approx(136.0).epsilon(0.05));
}

TEST_CASE("Early losses of many machines make early segments shorter", "[segment_length]") {
  MachineLives lives(36000.0);
  RandomStream stream(1, "lives");
  for (int i = 0; i < 200; ++i) {
    const double mean = stream.uniform() < 0.4 ? 1800.0 : 72000.0;
    lives.add(-mean * std::log1p(-stream.uniform()), true);
  }
  CHECK(lives.survival().hazard(60.0) > 2.0 * lives.survival().hazard(36000.0));
}

}  // namespace
}  // namespace scavenger::campaign
