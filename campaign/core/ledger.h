// Where the time and the money of machines went. Pure.
//
// A machine has slots, each of which takes one simulation. Each second of a slot is spent on one
// thing and costs the machine's price divided by its slots, so that the sums are the bill.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/provider/machine.h"
#include "runtime/vocabulary/word.h"

namespace scavenger::campaign {

enum class Spent { kUseful, kRedone, kDiscarded, kCheckpoint, kStart, kIdle };
inline constexpr std::size_t kSpentKinds = 6;
inline constexpr std::array<Named<Spent>, kSpentKinds> kSpentNames{{
    {Spent::kUseful, "useful"},          // computed and kept
    {Spent::kRedone, "redone"},          // computed and lost
    {Spent::kDiscarded, "discarded"},    // of simulations that diverged or failed
    {Spent::kCheckpoint, "checkpoint"},  // from the end of a segment until the next begins
    {Spent::kStart, "start"},            // from the machine to the first second of a segment
    {Spent::kIdle, "idle"},              // nothing to do, and time that is charged at the least
}};
static_assert(is_complete(kSpentNames, Spent::kIdle));
constexpr const auto& table_of(Spent) {
  return kSpentNames;
}

struct Amount {
  double seconds = 0.0;            // of slots
  double dollars = 0.0;            // that are charged
  double on_demand_dollars = 0.0;  // for the same on machines that are not spot

  void add(const Amount& other);
  bool operator==(const Amount&) const = default;
};

using Amounts = std::array<Amount, kSpentKinds>;

struct MachineRate {
  double per_hour = 0.0;            // dollars
  double on_demand_per_hour = 0.0;  // dollars
  double minimum_seconds = 0.0;     // least time that is charged
};

class Ledger final {
 public:
  // What a slot does.
  enum class Phase { kStart, kIdle, kRun, kCheckpoint };

  // The machine is charged since `since_seconds`.
  void open(MachineId machine, std::uint32_t slots, const MachineRate& rate, double since_seconds);
  void enter(MachineId machine, std::uint32_t slot, Phase phase, double now_seconds);
  // What the slot has computed so far and nobody has accounted for is now of this kind.
  Amount settle(MachineId machine, std::uint32_t slot, Spent spent);
  // What it has computed so far and nobody has accounted for.
  double unsettled_seconds(MachineId machine, std::uint32_t slot, double now_seconds) const;
  // It is not charged any more from then on; what was computed and not accounted for is redone.
  void close(MachineId machine, double now_seconds);
  // What was of one kind turns out to be of another one.
  void move(Spent from, Spent to, const Amount& amount);

  bool is_open(MachineId machine) const { return machines_.contains(machine); }
  // What open slots do counts up to `now_seconds`; what they compute counts as useful.
  Amounts amounts(double now_seconds) const;
  double dollars(double now_seconds) const;
  // Of all machines that are charged.
  double dollars_per_second() const;
  // What would be charged beyond dollars() if all machines ended now.
  double dollars_to_minimum(double now_seconds) const;

 private:
  struct Slot {
    Phase phase = Phase::kStart;
    double since_seconds = 0.0;
    double run_seconds = 0.0;  // computed before `since_seconds`, and not settled
  };
  struct Charged {
    MachineRate rate;
    double since_seconds = 0.0;
    std::vector<Slot> slots;
  };

  Amount amount_of(const Charged& machine, double seconds) const;
  void spend(Spent spent, const Amount& amount);
  static Spent kind_of(Phase phase);

  std::map<MachineId, Charged> machines_;
  Amounts spent_{};
};

}  // namespace scavenger::campaign
