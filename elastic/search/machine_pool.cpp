#include "elastic/search/machine_pool.h"

#include <algorithm>

#include "runtime/provider/emulated/emulated_settings.h"

namespace scavenger::elastic {

perfmodel::MachinePool machine_pool(const JobConfig& config) {
  if (config.provider.type != ProviderType::kEmulated) return {};
  const EmulatedSettings settings = emulated_settings(config.provider);
  if (settings.types.size() < 2) return {};
  perfmodel::MachinePool pool;
  pool.sharing = config.batching.dynamic ? perfmodel::Sharing::kDynamic : perfmodel::Sharing::kEven;
  for (const EmulatedMachineType& type : settings.types) {
    if (type.count == 0) continue;
    perfmodel::MachineGroup group;
    group.type = type.name;
    group.workers = type.count;
    group.speed = type.cores / settings.types.front().cores;
    group.price_per_hour = config.provider.spot ? type.spot_price_per_hour : type.price_per_hour;
    pool.groups.push_back(std::move(group));
  }
  // Whether there are enough is the provider's matter, and shows when they are asked for.
  constexpr double kPlenty = 1e6;
  if (!pool.groups.empty()) pool.groups.back().workers = kPlenty;
  const auto is_free = [](const perfmodel::MachineGroup& group) {
    return group.price_per_hour <= 0.0;
  };
  if (std::ranges::all_of(pool.groups, is_free))
    for (perfmodel::MachineGroup& group : pool.groups) group.price_per_hour = 1.0;
  return pool;
}

}  // namespace scavenger::elastic
