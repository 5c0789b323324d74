#include "elastic/batching/machine_power.h"

#include <algorithm>

namespace scavenger::elastic {

std::map<std::string, double> machine_powers(const MachineCatalogue& catalogue,
                                             std::uint32_t threads_per_worker) {
  std::map<std::string, double> powers;
  for (const CatalogueEntry& entry : catalogue.entries) {
    if (entry.type.empty() || entry.cores <= 0.0 || entry.gpus > 0.0) return {};
    powers[entry.type] = threads_per_worker > 0
                             ? std::min(entry.cores, static_cast<double>(threads_per_worker))
                             : entry.cores;
  }
  return powers;
}

}  // namespace scavenger::elastic
