#include "runtime/provider/machine_catalogue.h"

#include <algorithm>

namespace scavenger {

const std::optional<MachinePrice>& price_of(const CatalogueEntry& entry, bool spot) {
  return spot && entry.spot ? entry.spot : entry.on_demand;
}

std::optional<MachinePrice> price_of(const MachineCatalogue& catalogue, const std::string& type,
                                     bool spot) {
  std::optional<MachinePrice> best;
  for (const CatalogueEntry& entry : catalogue.entries) {
    const std::optional<MachinePrice>& price = price_of(entry, spot);
    if (!price || (!type.empty() && entry.type != type)) continue;
    if (catalogue.order == MachineCatalogue::Order::kAsListed) return price;
    if (!best || price->per_hour < best->per_hour) best = price;
  }
  return best;
}

std::vector<double> expected_speeds(const MachineCatalogue& catalogue, double most_cores) {
  std::vector<double> speeds;
  for (const CatalogueEntry& entry : catalogue.entries) {
    const CatalogueEntry& first = catalogue.entries.front();
    const bool has_gpu = entry.gpus > 0.0;
    if (has_gpu != (first.gpus > 0.0) || entry.gpu_type != first.gpu_type) return {};
    if (has_gpu ? entry.gpu_type.empty() : !(entry.cores > 0.0)) return {};
    speeds.push_back(has_gpu ? 1.0 : std::min(entry.cores, most_cores));
  }
  return speeds;
}

std::optional<std::uint32_t> count_of(const MachineCatalogue& catalogue) {
  std::uint32_t count = 0;
  for (const CatalogueEntry& entry : catalogue.entries) {
    if (!entry.count) return std::nullopt;
    count += *entry.count;
  }
  return count;
}

}  // namespace scavenger
