#include "elastic/control/boundary.h"

#include <catch2/catch.hpp>

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

Membership membership(std::uint32_t batch_size, std::uint64_t first_iteration = 0,
                      std::uint64_t first_position = 0) {
  return {1, batch_size, {batch_size}, first_iteration, first_position};
}

}  // namespace

TEST_CASE("an interval in iterations comes round at its multiples") {
  const Membership any = membership(10);

  CHECK(next_boundary({0.0, 7}, any, 0, 100) == 7);
  CHECK(next_boundary({0.0, 7}, any, 6, 100) == 7);
  CHECK(next_boundary({0.0, 7}, any, 7, 100) == 14);
}

TEST_CASE("iterations win over epochs, and with neither there is no boundary") {
  CHECK(next_boundary({1.0, 3}, membership(10), 0, 100) == 3);
  CHECK(next_boundary({0.0, 0}, membership(10), 5, 100) == kNever);
}

TEST_CASE("an epoch ends with the iteration that takes its last sample") {
  const Membership uneven = membership(30);  // 100 samples: after 3 1/3 iterations

  CHECK(next_boundary({1.0, 0}, uneven, 0, 100) == 4);
  CHECK(next_boundary({1.0, 0}, uneven, 4, 100) == 7);
  CHECK(next_boundary({1.0, 0}, uneven, 7, 100) == 10);
  CHECK(iterations_for_epochs(2.0, uneven, 100) == 7);
}

TEST_CASE("a changed batch size moves no epoch") {
  // 4 iterations of 10 samples are done, then B becomes 20: the epoch's 60 samples last 3 more.
  const Membership resized = membership(20, 4, 40);

  CHECK(next_boundary({1.0, 0}, resized, 4, 100) == 7);
  CHECK(iterations_for_epochs(1.0, resized, 100) == 7);
  CHECK(iterations_for_epochs(0.2, resized, 100) == 4);  // over before it began
}

TEST_CASE("an interval shorter than a batch comes round after every iteration") {
  CHECK(next_boundary({0.05, 0}, membership(10), 0, 100) == 1);
  CHECK(next_boundary({0.05, 0}, membership(10), 1, 100) == 2);
  CHECK(next_boundary({1e-300, 0}, membership(10), 1, 100) == 2);  // at once, not sample by sample
}

TEST_CASE("a fraction of an epoch that floating point cannot say adds no iteration") {
  // 0.07 * 50000 is 3500.0000000000005, and 1.1 * 50000 is 55000.00000000001.
  CHECK(next_boundary({0.07, 0}, membership(50), 0, 50000) == 70);
  CHECK(iterations_for_epochs(1.1, membership(50), 50000) == 1100);
}

TEST_CASE("a number of epochs that nobody will live to see is never reached, not an overflow") {
  CHECK(iterations_for_epochs(1e300, membership(1), 60000) == kNever);
  CHECK(next_boundary({1e300, 0}, membership(1), 0, 60000) == kNever);
}
