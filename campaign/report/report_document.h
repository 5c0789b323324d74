// report.json of a campaign: what was simulated, and where the time and the money went. Pure.
#pragma once

#include "campaign/core/campaign.h"
#include "runtime/schema/json.h"

namespace scavenger::campaign {

// docs/campaigns.md names the fields.
Json report_document(const Campaign& campaign, double seconds);

}  // namespace scavenger::campaign
