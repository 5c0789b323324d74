#include "elastic/batching/overhead_estimate.h"

#include <catch2/catch.hpp>

namespace scavenger::elastic {
namespace {

// Of workers that take (overhead + b) / speed, with a relative error of the later time.
void change(OverheadEstimate& estimate, double overhead, double before, double after,
            double error = 0.0) {
  estimate.add(before, overhead + before, after, (overhead + after) * (1.0 + error));
}

TEST_CASE("Before any change the overhead counts as none") {
  CHECK(OverheadEstimate().samples() == 0.0);
}

TEST_CASE("The overhead shows in how times change with shares") {
  OverheadEstimate estimate;
  change(estimate, 50.0, 64, 20);
  change(estimate, 50.0, 64, 108);
  CHECK(estimate.samples() == Approx(50.0).epsilon(0.2));
}

TEST_CASE("Times in proportion to shares mean no overhead, noise or not") {
  OverheadEstimate estimate;
  change(estimate, 0.0, 64, 12, 0.03);
  change(estimate, 0.0, 64, 116, -0.03);
  CHECK(estimate.samples() < 4.0);
}

TEST_CASE("A worker that got slower meanwhile does not decide it") {
  OverheadEstimate estimate;
  for (const double after : {20.0, 100.0, 40.0, 90.0}) change(estimate, 30.0, 64, after);
  change(estimate, 30.0, 64, 20, 3.0);
  CHECK(estimate.samples() == Approx(30.0).epsilon(0.25));
}

TEST_CASE("Small changes tell nothing") {
  OverheadEstimate estimate;
  change(estimate, 50.0, 64, 70);
  CHECK(estimate.samples() == 0.0);
}

}  // namespace
}  // namespace scavenger::elastic
