// A price catalog as a table for people.
#pragma once

#include <span>
#include <string>

#include "cloud_gcp/pricing/prices.h"

namespace scavenger::gcp {

// Of these machine types, or of all that are sold in the region if none is named. Throws
// ConfigError for a region, or a named type, of which the catalog has no price.
std::string price_table(const PriceCatalog& catalog, const std::string& region,
                        std::span<const std::string> machine_types);

}  // namespace scavenger::gcp
