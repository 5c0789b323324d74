#include "campaign/core/machine_lives.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "perfmodel/survival/early_hazard.h"
#include "perfmodel/survival/fitted_survival.h"

namespace scavenger::campaign {
namespace {

using perfmodel::Lifetime;
using perfmodel::Survival;

constexpr double kLeastLifeSeconds = 1e-3;
constexpr double kWallSlackSeconds = 60.0;

}  // namespace

MachineLives::MachineLives(double prior_mean_seconds, double wall_seconds)
    : prior_mean_seconds_(prior_mean_seconds), wall_seconds_(wall_seconds) {
  const auto constant = perfmodel::constant_hazard({}, prior_mean_seconds);
  all_.mean_life_seconds = prior_mean_seconds;
  all_.survival = std::make_shared<perfmodel::EarlyHazard>(constant);
  if (std::isfinite(wall_seconds)) all_.survival = with_wall(all_.survival, wall_seconds);
}

void MachineLives::add(const MachineKind& kind, double seconds, bool was_lost) {
  // Whatever ends at the wall was not lost before it.
  const bool is_at_wall = seconds >= wall_seconds_ - kWallSlackSeconds;
  const Lifetime life{std::max(seconds, kLeastLifeSeconds), was_lost && !is_at_wall};
  add_to(all_, life, prior_mean_seconds_);
  Group& type = types_[kind.type];
  add_to(type, life, all_.mean_life_seconds);
  add_to(kinds_[{kind.type, kind.zone}], life, type.mean_life_seconds);
}

void MachineLives::add_to(Group& group, const Lifetime& life, double prior_mean_seconds) const {
  group.lives.push_back(life);
  const auto constant = perfmodel::constant_hazard(group.lives, prior_mean_seconds);
  group.mean_life_seconds = constant.mean_life_seconds();
  if (perfmodel::allows_fit(group.lives))
    group.survival = perfmodel::fitted_survival(group.lives);
  else
    group.survival = std::make_shared<perfmodel::EarlyHazard>(constant);
  if (std::isfinite(wall_seconds_)) group.survival = with_wall(group.survival, wall_seconds_);
}

const Survival& MachineLives::survival(const std::string& type) const {
  const auto found = types_.find(type);
  return found == types_.end() ? survival() : *found->second.survival;
}

const Survival& MachineLives::survival(const MachineKind& kind) const {
  const auto found = kinds_.find({kind.type, kind.zone});
  return found == kinds_.end() ? survival(kind.type) : *found->second.survival;
}

}  // namespace scavenger::campaign
