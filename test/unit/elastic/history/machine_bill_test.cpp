#include "elastic/history/machine_bill.h"

#include <catch2/catch.hpp>

using namespace scavenger::elastic;

namespace {

using Change = fact::MachineChange;

fact::Machine machine(const char* name, Change change, double price_per_hour = 36.0) {
  fact::Machine event;
  event.name = name;
  event.change = change;
  event.price_per_hour = price_per_hour;
  return event;
}

}  // namespace

TEST_CASE("machines are charged by the second from ready to their end") {
  MachineBill bill;
  bill.apply(1.0, machine("", Change::kRequested));
  bill.apply(10.0, machine("a", Change::kReady));  // a cent a second
  bill.apply(20.0, machine("b", Change::kReady, 72.0));
  CHECK(bill.cost(30.0) == Approx(0.4));
  CHECK(bill.cost_per_hour() == Approx(108.0));

  bill.apply(30.0, machine("b", Change::kNotice, 72.0));
  bill.apply(40.0, machine("b", Change::kLost, 72.0));
  bill.apply(50.0, machine("a", Change::kReleased));
  CHECK(bill.cost(1000.0) == Approx(0.8));
  CHECK(bill.cost_per_hour() == 0.0);
  CHECK(bill.machines() == 2);
  CHECK(bill.lost() == 1);
}

TEST_CASE("spot machines are also reckoned at their price on demand") {
  MachineBill bill;
  CHECK_FALSE(bill.has_spot());
  fact::Machine spot = machine("a", Change::kReady);
  spot.spot = true;
  spot.on_demand_price_per_hour = 144.0;
  bill.apply(0.0, spot);
  fact::Machine usual = machine("b", Change::kReady);
  usual.on_demand_price_per_hour = 36.0;
  bill.apply(0.0, usual);
  bill.apply(10.0, machine("a", Change::kLost));

  CHECK(bill.has_spot());
  CHECK(bill.cost(20.0) == Approx(0.3));
  CHECK(bill.on_demand_cost(20.0) == Approx(0.6));
}

TEST_CASE("a minimum is charged in any case, and what had been charged before") {
  MachineBill bill;
  fact::Machine short_lived = machine("a", Change::kReady);
  short_lived.minimum_seconds = 60.0;
  short_lived.charged_seconds = 15.0;
  bill.apply(100.0, short_lived);

  CHECK(bill.cost(101.0) == Approx(0.6));
  CHECK(bill.cost(150.0) == Approx(0.65));
}

TEST_CASE("what a killed process had is charged until then, or on, where it is taken over") {
  MachineBill bill;
  bill.apply(0.0, machine("a", Change::kReady));
  bill.apply(0.0, machine("b", Change::kReady));
  bill.suspend(10.0);
  CHECK(bill.cost(50.0) == Approx(0.2));
  CHECK(bill.cost_per_hour() == 0.0);

  bill.apply(50.0, machine("a", Change::kReady));
  CHECK(bill.cost(60.0) == Approx(0.7));
}
