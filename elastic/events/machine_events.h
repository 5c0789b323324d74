// The fact of a rented machine (runtime/provider).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/vocabulary/word.h"

namespace scavenger::elastic::fact {

enum class MachineChange { kRequested, kReady, kNotice, kLost, kReleased, kRefused };
inline constexpr std::array<Named<MachineChange>, 6> kMachineChanges{{
    {MachineChange::kRequested, "requested"},
    {MachineChange::kReady, "ready"},
    {MachineChange::kNotice, "notice"},
    {MachineChange::kLost, "lost"},
    {MachineChange::kReleased, "released"},
    {MachineChange::kRefused, "refused"},
}};
static_assert(is_complete(kMachineChanges, MachineChange::kRefused));
constexpr const auto& table_of(MachineChange) {
  return kMachineChanges;
}

// A change in the life of a machine that was asked for: from requested to released, lost or
// refused.
struct Machine {
  static constexpr std::string_view kName = "machine";

  std::string name;
  MachineChange change = MachineChange::kRequested;
  std::uint32_t worker = 0;  // for which it is
  std::string machine_type;
  std::string zone;
  bool spot = false;
  double price_per_hour = 0.0;            // dollars
  double on_demand_price_per_hour = 0.0;  // of the same machine if it were not spot
  double minimum_seconds = 0.0;           // that are charged in any case
  double charged_seconds = 0.0;           // when it got ready: that had been charged before
  std::string reason;                     // of a notice, a loss, a refusal

  bool operator==(const Machine&) const = default;
};

}  // namespace scavenger::elastic::fact
