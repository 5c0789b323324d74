#include "elastic/vms/race/audition_shares.h"

#include <catch2/catch.hpp>

#include "elastic/vms/race/vm_race.h"

namespace scavenger::elastic {
namespace {

// A worker whose samples take 2 ms each after 10 ms, beside others that take 104 ms.
MeasuredShare measured(std::uint32_t share) {
  return {.share = share, .time = {.seconds = 0.01 + 0.002 * share, .others = 0.104}};
}

}  // namespace

TEST_CASE("After the first share, the next lies between it and the largest that is safe") {
  const std::vector<MeasuredShare> known = {measured(10)};
  // 30 ms for 10 samples are at most 3 ms each: 43 samples in 130 ms, and the root of 10 x 43.
  CHECK(next_audition_share(known, 3, 400) == 21);
}

TEST_CASE("Two shares tell the line, and so the largest share") {
  const std::vector<MeasuredShare> known = {measured(10), measured(20)};
  CHECK(kMostSlowdown == 1.25);
  CHECK(next_audition_share(known, 3, 400) == 60);  // (130 - 10) ms at 2 ms each
}

TEST_CASE("No share is above twice an even one, or leaves others without a sample") {
  const std::vector<MeasuredShare> known = {measured(10), measured(20)};
  CHECK(next_audition_share(known, 3, 100) == 50);
  CHECK(next_audition_share(known, 3, 26) == 0);  // 13 would be less than was measured
  const std::vector<MeasuredShare> one = {measured(1)};
  CHECK(next_audition_share(one, 3, 4) == 0);
}

TEST_CASE("Three shares are enough") {
  const std::vector<MeasuredShare> known = {measured(10), measured(20), measured(60)};
  CHECK(next_audition_share(known, 3, 400) == 0);
}

}  // namespace scavenger::elastic
