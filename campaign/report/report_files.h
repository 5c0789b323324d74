// Writes the reports of a campaign into its run folder: report.json and report.html.
#pragma once

#include <filesystem>

#include "campaign/core/campaign.h"
#include "campaign/run/campaign_folder.h"

namespace scavenger::campaign {

// Throws SystemError.
void write_report_document(const CampaignFolder& folder, const Campaign& campaign, double seconds);

// Writes the page, with the results that the folder holds. Throws SystemError.
void write_report_page(const CampaignFolder& folder, const Campaign& campaign, double seconds,
                       const std::filesystem::path& page);

}  // namespace scavenger::campaign
