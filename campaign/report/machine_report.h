// The part of a campaign's report about its machines: at which ages they were lost, against what
// the model expects, and what simulations cost on each type.
#pragma once

#include <string>

#include "campaign/core/campaign.h"
#include "campaign/report/report_document.h"

namespace scavenger::campaign {

// `lives` of the document: machines that live still count until now.
Json lives_json(const Campaign& campaign, double seconds);
// `types` of the document, those with prices that were measured, the cheapest first.
Json types_json(const Campaign& campaign);

// Sections of the page; empty if there is nothing to tell.
std::string lives_section(const Json& lives);
std::string types_section(const Json& types);

}  // namespace scavenger::campaign
