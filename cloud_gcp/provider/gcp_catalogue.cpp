#include "cloud_gcp/provider/gcp_catalogue.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/base/error.h"

namespace scavenger::gcp {
namespace {

constexpr double kBillingMinimumSeconds = 60.0;
// The longest of 1,440 real stops: a VM may be charged until it is gone.
constexpr double kReturningSeconds = 180.0;

}  // namespace

MachinePrice vm_price(const Offer& offer, const GcpSettings& settings, const PriceCatalog& prices) {
  return {.per_hour = offer.dollars_per_hour,
          .on_demand_per_hour = prices.per_hour(offer.machine_type, region_of_zone(offer.zone),
                                                Provisioning::kOnDemand, settings.gpus),
          .minimum_seconds = kBillingMinimumSeconds,
          .returning_seconds = kReturningSeconds,
          .source = "catalog of " + prices.as_of()};
}

MachineCatalogue gcp_catalogue(const GcpSettings& settings, const PriceCatalog& prices) {
  MachineCatalogue catalogue;
  catalogue.order = MachineCatalogue::Order::kCheapestFirst;
  for (const std::string& zone : settings.zones)
    for (const std::string& type : settings.machine_types) {
      const auto price = [&](Provisioning provisioning) {
        const double dollars =
            prices.per_hour(type, region_of_zone(zone), provisioning, settings.gpus);
        return vm_price({zone, type, dollars}, settings, prices);
      };
      const MachineShape shape = prices.shape(type);
      catalogue.entries.push_back({.type = type,
                                   .zone = zone,
                                   .cores = shape.vcpus,
                                   .memory_gib = shape.memory_gib,
                                   .gpus = shape.gpus + settings.gpus.count,
                                   .on_demand = price(Provisioning::kOnDemand),
                                   .spot = price(Provisioning::kSpot)});
    }
  return catalogue;
}

MachineCatalogue region_catalogue(const std::string& region, const PriceCatalog& prices) {
  prices.require_region(region);
  MachineCatalogue catalogue;
  catalogue.order = MachineCatalogue::Order::kCheapestFirst;
  for (const std::string& type : prices.machine_types()) {
    const MachineShape shape = prices.shape(type);
    const auto price = [&](Provisioning provisioning) -> std::optional<MachinePrice> {
      try {
        return MachinePrice{.per_hour = prices.per_hour(type, region, provisioning),
                            .minimum_seconds = kBillingMinimumSeconds,
                            .returning_seconds = kReturningSeconds,
                            .source = "catalog of " + prices.as_of()};
      } catch (const ConfigError&) {  // not sold there
        return std::nullopt;
      }
    };
    catalogue.entries.push_back({.type = type,
                                 .cores = shape.vcpus,
                                 .memory_gib = shape.memory_gib,
                                 .gpus = shape.gpus,
                                 .on_demand = price(Provisioning::kOnDemand),
                                 .spot = price(Provisioning::kSpot)});
  }
  return catalogue;
}

}  // namespace scavenger::gcp
