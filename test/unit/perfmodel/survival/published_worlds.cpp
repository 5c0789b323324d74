#include "test/unit/perfmodel/survival/published_worlds.h"

#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

#include "perfmodel/survival/early_hazard.h"
#include "test/unit/perfmodel/survival/lifetime_table.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kBeforeWall = 23.5 * kHour;

}  // namespace

std::optional<World> world_of(const Slice& slice, bool has_wall) {
  std::vector<Lifetime> lifetimes = published_lifetimes(slice.zone, slice.type);
  if (lifetimes.empty()) return std::nullopt;
  if (has_wall) {
    auto table = std::make_shared<KaplanMeier>(lifetimes);
    auto fitted = std::make_shared<EarlyHazard>(fit_early_hazard(lifetimes, kBeforeWall));
    return World{with_wall(std::move(table), kWall), with_wall(std::move(fitted), kWall)};
  }
  for (Lifetime& lifetime : lifetimes)
    if (lifetime.seconds > kBeforeWall) lifetime = {kBeforeWall, false};
  return World{std::make_shared<KaplanMeier>(lifetimes),
               std::make_shared<EarlyHazard>(fit_early_hazard(lifetimes, kBeforeWall))};
}

int study_seeds() {
  const char* const set = std::getenv("SCAVENGER_SURVIVAL_SEEDS");
  return set != nullptr ? std::atoi(set) : 0;
}

void print(const std::string& line) {
  if (study_seeds() > 0) std::cout << line << std::endl;
}

}  // namespace scavenger::perfmodel
