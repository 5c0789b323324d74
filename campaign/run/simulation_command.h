// What is sent to a machine for a simulation: its command and its files, with the point's values
// filled in. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "campaign/core/campaign_events.h"
#include "campaign/space/placeholders.h"
#include "campaign/space/space.h"
#include "campaign/task/task_channel.h"

namespace scavenger::campaign {

// The seed of a point's simulation: from 1 to 2^31 - 2, as all engines take it.
std::uint64_t seed_of(std::uint64_t campaign_seed, PointIndex point);

// The parameters of a point, and its seed.
Substitutions substitutions_of(const CampaignConfig& config, const Space& space, PointIndex point);

message::Run segment_command(const CampaignConfig& config, const Space& space, TaskId task,
                             PointIndex point, std::uint64_t from, std::uint64_t until);

// Whether the command is told how far it goes, so that it can be told to go further after its end.
bool can_be_lengthened(const SimulationConfig& simulation);

// The input files with the templates among them filled.
std::vector<TaskFile> filled_files(const CampaignConfig& config, const Space& space,
                                   PointIndex point, std::vector<TaskFile> inputs);

}  // namespace scavenger::campaign
