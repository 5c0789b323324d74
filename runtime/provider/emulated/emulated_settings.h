// What the configuration says of an emulated cluster: its object `provider` of type "emulated".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/config/provider_config.h"

namespace scavenger {

struct EmulatedMachineType {
  std::string name;
  double cores = 1.0;             // share of this machine's processors
  double link_megabits = 1000.0;  // per second, in each direction; 0: not limited
  double price_per_hour = 0.0;
  double spot_price_per_hour = 0.0;
  double start_seconds = 0.0;  // from the request to the machine
  std::uint32_t count = 0;     // how many there are
};

// The next machine of a worker is taken at this age.
struct ScheduledLoss {
  std::uint32_t worker = 0;
  double life_seconds = 0.0;
  double notice_seconds = 0.0;  // 0: without notice
};

struct PreemptionSettings {
  double mean_life_seconds = 0.0;  // 0: nothing is taken by chance
  double notice_seconds = 0.0;
  double notice_share = 1.0;  // of the machines that get a notice
  std::uint64_t seed = 1;
  std::vector<ScheduledLoss> schedule;
};

struct EmulatedSettings {
  std::vector<EmulatedMachineType> types;  // taken in this order
  PreemptionSettings preemption;
  double quota_period_seconds = 0.005;
};

// Requires a checked configuration.
EmulatedSettings emulated_settings(const ProviderConfig& config);

}  // namespace scavenger
