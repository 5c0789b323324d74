// The page of a campaign: report.json and profiles as HTML that needs nothing else. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "campaign/result/result_files.h"
#include "campaign/space/space.h"
#include "runtime/schema/json.h"

namespace scavenger::campaign {

struct DrawnProfile {
  std::string title;  // "Z=4, c=0.5"
  Profile simulated;
  std::optional<Profile> predicted;  // with one sigma; of the holdout only
};

// `document`: as of report_document(). `columns`: what the profiles are of; null: none is drawn.
std::string report_page(const Json& document, const ProfileColumns* columns,
                        const std::vector<DrawnProfile>& profiles);

}  // namespace scavenger::campaign
