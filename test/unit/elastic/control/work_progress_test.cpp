#include "elastic/control/work_progress.h"

#include <catch2/catch.hpp>
#include <vector>

#include "elastic/control/boundary.h"

namespace scavenger::elastic {

TEST_CASE("What all workers have finished is what the slowest has finished") {
  WorkProgress work(100);
  work.begin_membership(3);
  work.begin_timing(10.0);
  CHECK(work.extend_grant(kNever) == 102U);
  CHECK_FALSE(work.report(0, 101, 10.1));
  CHECK_FALSE(work.report(0, 102, 10.2));  // the same worker is not counted twice
  CHECK_FALSE(work.report(2, 101, 10.3));
  CHECK(work.ranks_behind() == std::vector<std::uint32_t>{1});
  CHECK(work.done() == 100);
  CHECK(work.report(1, 101, 10.4));
  CHECK(work.done() == 101);
  CHECK(work.furthest() == 102);
  CHECK_FALSE(work.is_at_rest());
  CHECK_FALSE(work.report(1, 102, 10.5));
  CHECK(work.report(2, 102, 10.5));
  CHECK(work.is_at_rest());
  CHECK(work.seconds_without_progress(11.5) == Approx(1.0));
}

TEST_CASE("A grant lasts a quarter of a second, and ends at the boundary") {
  WorkProgress work(0);
  work.begin_membership(1);
  work.begin_timing(0.0);
  CHECK(work.extend_grant(1) == 1U);
  CHECK(work.report(0, 1, 0.01));
  CHECK(work.extend_grant(1000) == 26U);  // of 10 ms each
  CHECK(work.granted_seconds() == Approx(0.25));
  CHECK_FALSE(work.extend_grant(1000));  // there is enough to do
  CHECK(work.report(0, 14, 0.14));
  CHECK(work.extend_grant(30) == 30U);
  CHECK_FALSE(work.extend_grant(30));
  work.forget_pace();
  CHECK(work.granted_seconds() == 0.0);
}

TEST_CASE("A short grant is one iteration, or a twentieth of a second") {
  WorkProgress work(0);
  work.begin_membership(1);
  work.begin_timing(0.0);
  CHECK(work.extend_grant(kNever, GrantLength::kShort) == 1U);
  CHECK_FALSE(work.extend_grant(kNever, GrantLength::kShort));
  CHECK(work.report(0, 1, 0.2));
  CHECK(work.extend_grant(kNever, GrantLength::kShort) == 2U);
  work.forget_pace();
  CHECK(work.report(0, 2, 0.21));
  CHECK(work.extend_grant(kNever, GrantLength::kShort) == 7U);  // of 10 ms each
}

TEST_CASE("While workers are halted their reports change nothing but how far they are") {
  WorkProgress work(0);
  work.begin_membership(2);
  CHECK(work.extend_grant(kNever) == 2U);
  work.report_halted(0, 2);
  work.report_halted(1, 2);
  CHECK(work.done() == 0);
  CHECK(work.furthest() == 2);
  work.go_on_from(2);
  work.begin_membership(2);
  CHECK(work.done() == 2);
  CHECK(work.is_at_rest());
}

}  // namespace scavenger::elastic
