#include "campaign/core/ledger.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::campaign {

void Amount::add(const Amount& other) {
  seconds += other.seconds;
  dollars += other.dollars;
  on_demand_dollars += other.on_demand_dollars;
}

void Ledger::open(MachineId machine, std::uint32_t slots, const MachineRate& rate,
                  double since_seconds) {
  SCAVENGER_CHECK(slots > 0 && !machines_.contains(machine));
  Slot slot;
  slot.since_seconds = since_seconds;
  machines_[machine] = {rate, since_seconds, std::vector<Slot>(slots, slot)};
}

Spent Ledger::kind_of(Phase phase) {
  switch (phase) {
    case Phase::kStart:
      return Spent::kStart;
    case Phase::kIdle:
      return Spent::kIdle;
    case Phase::kRun:
      return Spent::kUseful;
    case Phase::kCheckpoint:
      return Spent::kCheckpoint;
  }
  check_failed("a phase of the enumeration", __FILE__, __LINE__);
}

Amount Ledger::amount_of(const Charged& machine, double seconds) const {
  const double hours = seconds / 3600.0 / static_cast<double>(machine.slots.size());
  return {seconds, hours * machine.rate.per_hour, hours * machine.rate.on_demand_per_hour};
}

void Ledger::spend(Spent spent, const Amount& amount) {
  spent_[static_cast<std::size_t>(spent)].add(amount);
}

void Ledger::enter(MachineId machine, std::uint32_t slot, Phase phase, double now_seconds) {
  Charged& charged = machines_.at(machine);
  Slot& changed = charged.slots.at(slot);
  const double seconds = now_seconds - changed.since_seconds;
  if (changed.phase == Phase::kRun)
    changed.run_seconds += seconds;
  else
    spend(kind_of(changed.phase), amount_of(charged, seconds));
  changed.phase = phase;
  changed.since_seconds = now_seconds;
}

Amount Ledger::settle(MachineId machine, std::uint32_t slot, Spent spent) {
  Charged& charged = machines_.at(machine);
  const double seconds = std::exchange(charged.slots.at(slot).run_seconds, 0.0);
  const Amount amount = amount_of(charged, seconds);
  spend(spent, amount);
  return amount;
}

double Ledger::unsettled_seconds(MachineId machine, std::uint32_t slot, double now_seconds) const {
  const Slot& asked = machines_.at(machine).slots.at(slot);
  const double running = asked.phase == Phase::kRun ? now_seconds - asked.since_seconds : 0.0;
  return asked.run_seconds + running;
}

void Ledger::close(MachineId machine, double now_seconds) {
  const auto slots = static_cast<std::uint32_t>(machines_.at(machine).slots.size());
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    enter(machine, slot, Phase::kIdle, now_seconds);
    settle(machine, slot, Spent::kRedone);
  }
  const Charged& charged = machines_.at(machine);
  const double short_seconds =
      std::max(0.0, charged.rate.minimum_seconds - (now_seconds - charged.since_seconds));
  spend(Spent::kIdle, amount_of(charged, short_seconds * slots));
  machines_.erase(machine);
}

void Ledger::move(Spent from, Spent to, const Amount& amount) {
  spend(to, amount);
  // Sums that were added in another order may leave a rounding error below zero.
  Amount& left = spent_[static_cast<std::size_t>(from)];
  left.seconds = std::max(0.0, left.seconds - amount.seconds);
  left.dollars = std::max(0.0, left.dollars - amount.dollars);
  left.on_demand_dollars = std::max(0.0, left.on_demand_dollars - amount.on_demand_dollars);
}

Amounts Ledger::amounts(double now_seconds) const {
  Amounts amounts = spent_;
  for (const auto& [machine, charged] : machines_)
    for (const Slot& slot : charged.slots) {
      const double seconds = now_seconds - slot.since_seconds;
      amounts[static_cast<std::size_t>(kind_of(slot.phase))].add(amount_of(charged, seconds));
      amounts[static_cast<std::size_t>(Spent::kUseful)].add(amount_of(charged, slot.run_seconds));
    }
  return amounts;
}

double Ledger::dollars(double now_seconds) const {
  double sum = 0.0;
  for (const Amount& amount : amounts(now_seconds)) sum += amount.dollars;
  return sum;
}

double Ledger::dollars_per_second() const {
  double sum = 0.0;
  for (const auto& [machine, charged] : machines_) sum += charged.rate.per_hour / 3600.0;
  return sum;
}

double Ledger::dollars_to_minimum(double now_seconds) const {
  double sum = 0.0;
  for (const auto& [machine, charged] : machines_)
    sum += charged.rate.per_hour / 3600.0 *
           std::max(0.0, charged.rate.minimum_seconds - (now_seconds - charged.since_seconds));
  return sum;
}

}  // namespace scavenger::campaign
