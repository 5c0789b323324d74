#include "campaign/core/segment_length.h"

#include <catch2/catch.hpp>
#include <cmath>

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

TEST_CASE("The interval is that of least expected loss", "[segment_length]") {
  CHECK(checkpoint_interval_seconds(10.0, 12.0 * 3600.0) == Approx(std::sqrt(20.0 * 43200.0)));
  const auto loss = [](double interval) { return 10.0 / interval + interval / 2.0 / 43200.0; };
  const double best = checkpoint_interval_seconds(10.0, 43200.0);
  CHECK(loss(best) < loss(0.9 * best));
  CHECK(loss(best) < loss(1.1 * best));
}

TEST_CASE("Losses change what is assumed of machines' lives", "[segment_length]") {
  MeanLife life(36000.0);
  CHECK(life.seconds() == 36000.0);
  for (int i = 0; i < 1000; ++i) life.add_life(100.0, true);
  CHECK(life.seconds() == Approx(136.0).margin(1.0));
  life.add_life(1000.0 * 100.0, false);
  CHECK(life.seconds() == Approx(236.0).margin(2.0));
}

}  // namespace
}  // namespace scavenger::campaign
