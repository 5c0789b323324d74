// What a plan has to know of simulations and machines: from the user, or from a campaign that was
// begun.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "campaign/config/campaign_config.h"
#include "campaign/core/rehearsal.h"

namespace scavenger::campaign {

struct PlanQuestion {
  RehearsedWorld world;
  double mean_seconds = 0.0;  // of computing, of one simulation
  // How the times of points follow from those that were measured; empty: all take as long.
  std::string source;
};

PlanQuestion question_of_seconds(const CampaignConfig& config, double simulation_seconds);

// Throws InputError if no simulation of the campaign in this folder is done.
PlanQuestion question_like(const CampaignConfig& config, const std::filesystem::path& run);

}  // namespace scavenger::campaign
