// What people see of a campaign while it runs. Pure.
#pragma once

#include <string>

#include "campaign/core/campaign.h"

namespace scavenger::campaign {

// A line about what has just happened; empty: nothing that people wait for.
std::string progress_line(const Campaign& campaign, const CampaignEvent& event, double seconds);

// Lines about the whole campaign: simulations, time and money.
std::string summary_text(const Campaign& campaign, double seconds);

}  // namespace scavenger::campaign
