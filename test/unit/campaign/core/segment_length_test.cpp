#include "campaign/core/segment_length.h"

#include <catch2/catch.hpp>

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

TEST_CASE("A rest is not taken along across the end of the machine", "[segment_length]") {
  const SegmentQuestion question{.from = 0,
                                 .steps = 1000,
                                 .multiple = 1,
                                 .interval_seconds = 9.0,
                                 .steps_per_second = 100.0,
                                 .most_seconds = 9.5};
  CHECK(segment_end(question) == 900);
}

TEST_CASE("What is to measure the speed is half as long after each loss", "[segment_length]") {
  SegmentQuestion question{.from = 0, .steps = 64000, .multiple = 10};
  CHECK(segment_end(question) == 1000);
  question.lost_trials = 3;
  CHECK(segment_end(question) == 120);
  question.lost_trials = 1000;
  CHECK(segment_end(question) == 10);
}

}  // namespace
}  // namespace scavenger::campaign
