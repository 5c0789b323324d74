#include "md/averages.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/random.h"

using namespace scavenger;
using namespace scavenger::md;

TEST_CASE("averages have the mean of all samples and the error of complete blocks") {
  Averages averages(1, 1, 2);
  for (const double value : {1.0, 3.0, 5.0, 7.0, 100.0}) {  // blocks: 2, 6; the last is incomplete
    averages.add_value(0, value);
    if (value > 4.0) averages.add_count(0);
    averages.end_sample();
  }
  CHECK(averages.blocks() == 2);
  CHECK(averages.value(0).mean == Approx(116.0 / 5.0));
  CHECK(averages.value(0).error == Approx(2.0));  // of 2 and 6
  CHECK(averages.count(0).mean == Approx(3.0 / 5.0));
  CHECK(averages.count(0).error == Approx(0.5));  // of 0 and 1 per sample
}

TEST_CASE("averages without blocks have no error") {
  Averages averages(1, 0, 10);
  CHECK(std::isnan(averages.value(0).mean));
  averages.add_value(0, 4.0);
  averages.end_sample();
  CHECK(averages.value(0).mean == 4.0);
  CHECK(std::isnan(averages.value(0).error));
}

TEST_CASE("the error of blocks covers the true mean as often as it says") {
  int covered = 0;
  constexpr int kTrials = 400;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    RandomStream stream(trial, "correlated");
    Averages averages(1, 0, 100);
    double value = stream.normal();
    for (int i = 0; i < 2000; ++i) {
      value = 0.8 * value + 0.6 * stream.normal();
      averages.add_value(0, value);
      averages.end_sample();
    }
    const Average average = averages.value(0);
    if (std::abs(average.mean) <= 2.0 * average.error) ++covered;
  }
  CHECK(covered >= kTrials * 89 / 100);
  CHECK(covered <= kTrials * 99 / 100);
}
