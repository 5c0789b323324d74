// Returns the text of configs/campaign.schema.json at the time when this library was built.
#pragma once

namespace scavenger {

const char* campaign_schema_text();

}  // namespace scavenger
