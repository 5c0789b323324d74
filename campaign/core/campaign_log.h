// campaign.jsonl: what a campaign was told, when, and what it answered. A campaign goes on from it,
// and a check steps through it again. Pure: text only.
#pragma once

#include <string>
#include <string_view>

#include "campaign/core/campaign.h"

namespace scavenger::campaign {

// The line of one step, without its end.
std::string log_line(double seconds, const CampaignEvent& event, const CampaignActions& actions);

struct ReplayedLog {
  Campaign campaign;
  double seconds = 0.0;   // of the last step
  std::size_t steps = 0;  // lines that were taken
};

// Steps a campaign through the lines of a log. A last line without an end is left out: its process
// was killed while it wrote it, before it did anything about it. Throws InputError, with `where`
// and the line, if a line is no step, or if the campaign answers something else than the log says.
ReplayedLog replay_log(CampaignPlan plan, std::string_view text, const std::string& where);

}  // namespace scavenger::campaign
