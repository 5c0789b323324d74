// The machines of Compute Engine that a configuration names, with what the price catalog knows of
// them. Pure.
#pragma once

#include <string>

#include "cloud_gcp/provider/gcp_settings.h"
#include "cloud_gcp/provider/offers.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::gcp {

// Every zone with every type. How many there are only shows when they are asked for, and networks
// are not in the price catalog. Throws ConfigError for a type without a price.
MachineCatalogue gcp_catalogue(const GcpSettings& settings, const PriceCatalog& prices);

// Every type that is sold in a region, without GPUs added. Throws ConfigError for a region without
// prices.
MachineCatalogue region_catalogue(const std::string& region, const PriceCatalog& prices);

// How a VM is charged that costs what the offer says. Throws ConfigError as above.
MachinePrice vm_price(const Offer& offer, const GcpSettings& settings, const PriceCatalog& prices);

}  // namespace scavenger::gcp
