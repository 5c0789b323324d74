// The fact of the search for the machine type (elastic/vms/race/vm_race.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/vocabulary/word.h"

namespace scavenger::elastic::fact {

enum class VmPhase {
  kBegun,
  kAudition,
  kProbing,
  kDismissed,
  kTrying,
  kMoving,
  kReplacing,
  kSettled,
  kEnded
};
inline constexpr std::array<Named<VmPhase>, 9> kVmPhases{{
    {VmPhase::kBegun, "begun"},
    {VmPhase::kAudition, "audition"},
    {VmPhase::kProbing, "probing"},
    {VmPhase::kDismissed, "dismissed"},
    {VmPhase::kTrying, "trying"},
    {VmPhase::kMoving, "moving"},
    {VmPhase::kReplacing, "replacing"},
    {VmPhase::kSettled, "settled"},
    {VmPhase::kEnded, "ended"},
}};
static_assert(is_complete(kVmPhases, VmPhase::kEnded));
constexpr const auto& table_of(VmPhase) {
  return kVmPhases;
}

// The search for the machine type goes a step on.
struct VmStep {
  static constexpr std::string_view kName = "vm_step";

  std::uint64_t iteration = 0;
  VmPhase phase = VmPhase::kBegun;
  std::string machine_type;            // of the machines that are asked for from now on; in an
                                       // audition, of its worker's alone
  std::uint32_t workers = 0;           // K that the job is to have now
  std::uint32_t batch_size = 0;        // B that it is to have now
  std::uint32_t worker = 0;            // that is auditioned, or replaced
  std::uint32_t share = 0;             // that it is to have; 0: as all others
  std::vector<std::uint32_t> leaving;  // workers
  std::string reason;
  // Whether machines that are asked for from now on are spot machines; nothing: as configured.
  std::optional<bool> spot = {};
  // Seconds per iteration that the plan expects; outside of them the job plans again.
  std::optional<double> seconds_low = {};
  std::optional<double> seconds_high = {};

  bool operator==(const VmStep&) const = default;
};

}  // namespace scavenger::elastic::fact
