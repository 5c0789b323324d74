// The settings of an emulated cluster: the configuration's object `provider` of type "emulated".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/config/provider_config.h"

namespace scavenger {

struct EmulatedMachineType {
  std::string name;
  double cores = 1.0;             // share of this machine's processors
  double link_megabits = 1000.0;  // megabits per second in each direction; 0: not limited
  double price_per_hour = 0.0;
  double spot_price_per_hour = 0.0;
  double start_seconds = 0.0;  // from the request until the machine is ready
  std::uint32_t count = 0;     // number of machines of this type
};

// The next machine of a worker is preempted at this age.
struct ScheduledLoss {
  std::uint32_t worker = 0;
  double life_seconds = 0.0;
  double notice_seconds = 0.0;  // 0: without notice
};

// The share of machines that were taken away by an age.
struct LostShare {
  double age_seconds = 0.0;
  double share = 0.0;
};

struct PreemptionSettings {
  double mean_life_seconds = 0.0;    // 0: no random preemptions
  std::vector<LostShare> lifetimes;  // replaces mean_life_seconds if it is not empty
  double notice_seconds = 0.0;
  double notice_share = 1.0;  // fraction of the machines that get a notice
  std::uint64_t seed = 1;
  std::vector<ScheduledLoss> schedule;
};

// A machine that is slower than others of its type.
struct SlowMachine {
  std::uint64_t machine = 0;  // number of machines that were obtained before it
  double speed = 1.0;
};

struct MachineSpeeds {
  double spread = 0.0;  // standard deviation of the logarithm of a machine's share of processors
  std::uint64_t seed = 1;
  std::vector<SlowMachine> slow;
};

struct EmulatedSettings {
  std::vector<EmulatedMachineType> types;  // used in this order
  PreemptionSettings preemption;
  MachineSpeeds speeds;
  double quota_period_seconds = 0.005;
};

// Requires a configuration that fits its schema. Throws ConfigError if the table of lifetimes is
// none.
EmulatedSettings emulated_settings(const ProviderConfig& config);

}  // namespace scavenger
