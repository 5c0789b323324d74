// What a bag of simulations would take and cost on the machines of a provider, before any is
// rented. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "campaign/config/campaign_config.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::campaign {

struct BagQuestion {
  std::uint64_t simulations = 0;
  double simulation_seconds = 0.0;  // of computing, of one
  double checkpoint_seconds = 0.5;  // what a checkpoint costs
  double start_seconds = 60.0;      // from a machine to its first step
};

struct BagOption {
  std::string type;
  std::string zone;
  bool spot = false;
  std::uint32_t machines = 0;
  std::uint32_t slots = 0;        // simulations at a time on each
  double interval_seconds = 0.0;  // from checkpoint to checkpoint, on a new machine
  double overhead = 0.0;          // share of the computing: checkpoints, losses and their restarts
  double losses = 0.0;            // of machines, expected
  double seconds = 0.0;           // of the whole bag
  double dollars = 0.0;
};

// For each offered type, as spot or not as the configuration says: 1, 2, 4, ... machines up to
// machines.count and to what the provider has. Types without a price or with too few cores are left
// out. Machines of spot live by simulation.checkpoint.mean_life_hours; others are not lost.
std::vector<BagOption> plan_bag(const CampaignConfig& config, const MachineCatalogue& catalogue,
                                const BagQuestion& question);

std::string text_of(const std::vector<BagOption>& options);

}  // namespace scavenger::campaign
