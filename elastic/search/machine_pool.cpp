#include "elastic/search/machine_pool.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "elastic/plan/sharing_of.h"

namespace scavenger::elastic {
namespace {

// Its types are taken one after the other, each as far as its count goes.
bool is_ordered_list_of_types(const MachineCatalogue& catalogue) {
  const auto is_told_apart = [](const CatalogueEntry& entry) {
    return !entry.type.empty() && entry.count.has_value();
  };
  return catalogue.order == MachineCatalogue::Order::kAsListed && catalogue.entries.size() >= 2 &&
         std::ranges::all_of(catalogue.entries, is_told_apart);
}

}  // namespace

perfmodel::MachinePool machine_pool(const JobConfig& config, const MachineCatalogue& catalogue) {
  const std::vector<double> speeds = expected_speeds(catalogue);
  if (!is_ordered_list_of_types(catalogue) || speeds.empty()) return {};
  perfmodel::MachinePool pool;
  pool.sharing = sharing_of(config);
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const CatalogueEntry& entry = catalogue.entries[i];
    if (*entry.count == 0) continue;
    perfmodel::MachineGroup group;
    group.type = entry.type;
    group.workers = *entry.count;
    group.speed = speeds[i] / speeds.front();
    if (const auto price = price_of(entry, config.provider.spot))
      group.price_per_hour = price->per_hour;
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

std::uint32_t room_for_workers(const JobConfig& config, const MachineCatalogue& catalogue) {
  // Of machines that are rented there are as many as somebody pays for; a search begins modestly.
  constexpr std::uint32_t kRented = 8;
  const std::uint32_t count = count_of(catalogue).value_or(kRented);
  return config.provider.is_remote() ? std::min(count, kRented) : count;
}

}  // namespace scavenger::elastic
