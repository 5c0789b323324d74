// A campaign on a virtual clock: its own decisions (campaign.h) in a world where simulations take
// the time that they are said to take, and machines live as long as their survival curve says. So
// a plan chooses machine types, segments and ends as the run will. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "campaign/core/campaign.h"
#include "perfmodel/survival/survival.h"

namespace scavenger::campaign {

// What the rehearsal assumes of the world.
struct RehearsedWorld {
  // The seconds that the whole simulation of this point computes on a machine of this type.
  std::function<double(PointIndex, const std::string& type)> simulation_seconds;
  // From the end of a segment until the next one computes, and from a simulation's way to a machine
  // until it computes there.
  double checkpoint_seconds = 0.5;
  double start_seconds = 60.0;  // from a machine until it takes simulations
  std::uint32_t cores = 1;      // of a machine whose entry in the catalogue does not say it
  // How long machines of spot live. Others end at the plan's wall only.
  std::shared_ptr<const perfmodel::Survival> lives;
};

// The cores of a machine of this entry. All machines of `local` share those of this one.
std::uint32_t cores_of(const CampaignConfig& config, const CatalogueEntry& entry,
                       const RehearsedWorld& world);

struct Rehearsed {
  std::string status;  // "finished" or "max_cost"; "failed" if it does not end
  std::string reason;
  double seconds = 0.0;
  std::uint64_t done = 0;      // simulations
  std::uint64_t segments = 0;  // that were kept
  std::uint64_t losses = 0;    // of machines
  Amounts spent{};
  Amount all() const;
};

// The surrogate is not trained: it may end the campaign earlier, and choose other points. The same
// seed gives the same lives of machines.
Rehearsed rehearse(const CampaignPlan& plan, const RehearsedWorld& world, std::uint64_t seed);

}  // namespace scavenger::campaign
