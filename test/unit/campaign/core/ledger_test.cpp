#include "campaign/core/ledger.h"

#include <catch2/catch.hpp>

namespace scavenger::campaign {
namespace {

double seconds_of(const Amounts& amounts, Spent spent) {
  return amounts[static_cast<std::size_t>(spent)].seconds;
}

TEST_CASE("Each second of a slot is spent on one thing", "[ledger]") {
  Ledger ledger;
  ledger.open(1, 2, {7.2, 36.0, 0.0}, 10.0);
  ledger.enter(1, 0, Ledger::Phase::kRun, 13.0);
  ledger.enter(1, 1, Ledger::Phase::kIdle, 12.0);
  ledger.enter(1, 0, Ledger::Phase::kCheckpoint, 23.0);
  CHECK(ledger.settle(1, 0, Spent::kUseful).dollars == Approx(10.0 * 7.2 / 3600.0 / 2.0));
  ledger.enter(1, 0, Ledger::Phase::kRun, 24.0);
  ledger.close(1, 30.0);
  const Amounts amounts = ledger.amounts(100.0);
  CHECK(seconds_of(amounts, Spent::kStart) == Approx(3.0 + 2.0));
  CHECK(seconds_of(amounts, Spent::kUseful) == Approx(10.0));
  CHECK(seconds_of(amounts, Spent::kCheckpoint) == Approx(1.0));
  CHECK(seconds_of(amounts, Spent::kRedone) == Approx(6.0));
  CHECK(seconds_of(amounts, Spent::kIdle) == Approx(18.0));
  CHECK(ledger.dollars(100.0) == Approx(20.0 * 7.2 / 3600.0));
}

TEST_CASE("What is charged at the least is idle time", "[ledger]") {
  Ledger ledger;
  ledger.open(1, 1, {3600.0, 3600.0, 60.0}, 0.0);
  CHECK(ledger.dollars_to_minimum(20.0) == Approx(40.0));
  ledger.close(1, 20.0);
  CHECK(ledger.dollars(20.0) == Approx(60.0));
  CHECK(seconds_of(ledger.amounts(20.0), Spent::kIdle) == Approx(40.0));
}

TEST_CASE("Open slots count up to the moment that is asked for", "[ledger]") {
  Ledger ledger;
  ledger.open(1, 1, {3600.0, 7200.0, 0.0}, 0.0);
  ledger.enter(1, 0, Ledger::Phase::kRun, 1.0);
  CHECK(ledger.dollars(5.0) == Approx(5.0));
  CHECK(ledger.unsettled_seconds(1, 0, 5.0) == Approx(4.0));
  CHECK(ledger.dollars_per_second() == Approx(1.0));
  CHECK(ledger.amounts(5.0)[0].on_demand_dollars == Approx(8.0));
}

}  // namespace
}  // namespace scavenger::campaign
