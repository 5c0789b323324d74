#include "campaign/core/ledger.h"

#include <catch2/catch.hpp>
#include <vector>

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

TEST_CASE("What turns out to be of another kind leaves nothing below zero", "[ledger]") {
  Ledger ledger;
  ledger.open(1, 1, {0.7, 0.9, 0.0}, 0.0);
  double now = 0.0;
  for (int round = 0; round < 50; ++round) {
    std::vector<Amount> kept;
    for (int segment = 0; segment < 3; ++segment) {
      ledger.enter(1, 0, Ledger::Phase::kRun, now);
      now += 0.1 + 0.37 * segment + 0.013 * round;
      ledger.enter(1, 0, Ledger::Phase::kCheckpoint, now);
      kept.push_back(ledger.settle(1, 0, Spent::kUseful));
    }
    // Sums do not come back to zero exactly.
    for (const Amount& amount : kept) ledger.move(Spent::kUseful, Spent::kDiscarded, amount);
    const Amount left = ledger.amounts(now)[static_cast<std::size_t>(Spent::kUseful)];
    REQUIRE(left.seconds >= 0.0);
    REQUIRE(left.dollars >= 0.0);
    REQUIRE(left.on_demand_dollars >= 0.0);
  }
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
