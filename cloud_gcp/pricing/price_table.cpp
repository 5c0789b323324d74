#include "cloud_gcp/pricing/price_table.h"

#include <fmt/format.h>

#include <vector>

#include "runtime/base/error.h"

namespace scavenger::gcp {

std::string price_table(const PriceCatalog& catalog, const std::string& region,
                        std::span<const std::string> machine_types) {
  catalog.require_region(region);
  std::string text =
      fmt::format("dollars an hour in {}, as of {}\n{:<24} {:>7} {:>9} {:>10} {:>10}\n", region,
                  catalog.as_of(), "machine", "vCPUs", "GiB", "on demand", "spot");
  const bool shows_all = machine_types.empty();
  const std::vector<std::string> all = catalog.machine_types();
  for (const std::string& type : shows_all ? std::span<const std::string>(all) : machine_types) {
    try {
      const MachineShape shape = catalog.shape(type);
      text += fmt::format("{:<24} {:>7} {:>9} {:>10.5f} {:>10.5f}\n", type, shape.vcpus,
                          shape.memory_gib, catalog.per_hour(type, region, Provisioning::kOnDemand),
                          catalog.per_hour(type, region, Provisioning::kSpot));
    } catch (const ConfigError&) {
      if (!shows_all) throw;  // not sold in this region
    }
  }
  return text;
}

}  // namespace scavenger::gcp
