// What a bag of simulations would take and cost on the machines of a provider, before any is
// rented: rehearsals of the campaign itself (rehearsal.h). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "campaign/core/rehearsal.h"

namespace scavenger::campaign {

// The mean of a few rehearsals.
struct BagOption {
  std::string type = {};  // empty: those that the campaign chooses
  std::string zone = {};
  bool spot = false;
  std::uint32_t machines = 0;     // at most, at a time
  std::uint32_t slots = 0;        // simulations at a time on each; 0: it depends on the type
  double interval_seconds = 0.0;  // of computing, from checkpoint to checkpoint
  double overhead = 0.0;  // share of the paid time: checkpoints, starts, work done again, idleness
  double losses = 0.0;    // of machines
  double seconds = 0.0;   // of the whole bag
  double dollars = 0.0;
  double simulations = 0.0;  // that are done in this time
  std::string status = {};   // of the last rehearsal
  std::string reason = {};
};

// As the campaign is configured: it chooses among all types, and keeps max_cost.
BagOption plan_campaign(const CampaignPlan& plan, const RehearsedWorld& world);

// The whole bag, whatever it costs, on each offered type alone, with 1, 2, 4, ... machines up to
// machines.count and to what the provider has. Types without a price or with too few cores are left
// out.
std::vector<BagOption> plan_types(const CampaignPlan& plan, const RehearsedWorld& world);

// Both, for people. `mean_seconds`: of one simulation; `source`: where that comes from.
std::string plan_text(const CampaignPlan& plan, const RehearsedWorld& world, double mean_seconds,
                      const std::string& source);

}  // namespace scavenger::campaign
