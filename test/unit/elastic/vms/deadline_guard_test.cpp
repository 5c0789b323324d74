#include "elastic/vms/race/deadline_guard.h"

#include <catch2/catch.hpp>

namespace scavenger::elastic {
namespace {

// An hour of work for four workers.
GuardQuestion an_hour() {
  GuardQuestion question;
  question.iterations = 36000.0;
  question.workers = 4.0;
  question.iteration_seconds = question.full_iteration_seconds = 0.1;
  question.spot_price = 0.1;
  question.on_demand_price = 0.3;
  question.start_seconds = 90.0;
  return question;
}

TEST_CASE("A job with time enough stays on spot machines, however often they are lost") {
  GuardQuestion question = an_hour();
  question.seconds_left = 3.0 * 3600.0;
  for (const double rate : {0.05, 1.0, 10.0}) {
    question.losses_per_vm_hour = rate;
    CHECK(!ask_deadline_guard(question).must_move);
  }
}

TEST_CASE("Machines that are lost too often for the limit are left for machines on demand") {
  GuardQuestion question = an_hour();
  question.seconds_left = 1.2 * 3600.0;
  question.losses_per_vm_hour = 0.05;
  CHECK(!ask_deadline_guard(question).must_move);
  question.losses_per_vm_hour = 12.0;  // 48 losses, of 22 s each with four workers
  const GuardAnswer answer = ask_deadline_guard(question);
  CHECK(answer.must_move);
  CHECK(answer.spot.seconds.q90 > question.seconds_left);
  CHECK(answer.on_demand.seconds.q90 < question.seconds_left);
}

TEST_CASE("If workers are missing, the pace of those that are there counts") {
  GuardQuestion question = an_hour();
  question.seconds_left = 1.2 * 3600.0;
  question.losses_per_vm_hour = 0.05;
  question.iteration_seconds = 0.13;
  CHECK(ask_deadline_guard(question).must_move);
}

TEST_CASE("Nothing is paid for what would not help, or for more than there is") {
  GuardQuestion question = an_hour();
  question.losses_per_vm_hour = 12.0;
  question.seconds_left = 0.5 * 3600.0;  // too late, whatever happens
  CHECK(!ask_deadline_guard(question).must_move);
  question.seconds_left = 1.2 * 3600.0;
  question.dollars_left = 1.0;  // an hour on demand costs 1.20
  CHECK(!ask_deadline_guard(question).must_move);
  question.dollars_left = 2.0;
  CHECK(ask_deadline_guard(question).must_move);
}

TEST_CASE("The rate of losses is what is usual, until some were seen") {
  CHECK(expected_loss_rate(0.05, 0.0, 0.0) == Approx(0.05).epsilon(0.02));
  CHECK(expected_loss_rate(0.05, 0.0, 1000.0) < 0.01);
  CHECK(expected_loss_rate(0.05, 50.0, 1000.0) == Approx(0.05).epsilon(0.1));
  // Twenty losses in four minutes of VMs are believed, one is not quite.
  CHECK(expected_loss_rate(0.05, 20.0, 1.0 / 15.0) == Approx(300.0).epsilon(0.2));
  const double once = expected_loss_rate(0.05, 1.0, 1.0 / 15.0);
  CHECK(once > 0.05);
  CHECK(once < 15.0);
}

}  // namespace
}  // namespace scavenger::elastic
