// The rules between the values of a campaign's configuration. Pure.
#pragma once

#include <vector>

#include "campaign/config/campaign_config.h"
#include "runtime/schema/violation.h"

namespace scavenger::campaign {

// Requires that the document satisfies the schema.
std::vector<Violation> find_inconsistencies(const CampaignConfig& config);

}  // namespace scavenger::campaign
