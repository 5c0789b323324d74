// Before anything is rented: which offers there are, and whether the project may ever have as many
// VMs as a job begins with.
#pragma once

#include <vector>

#include "cloud_gcp/api/compute_client.h"
#include "cloud_gcp/pricing/prices.h"
#include "cloud_gcp/provider/offers.h"
#include "cloud_gcp/provider/quota_room.h"

namespace scavenger::gcp {

// The offers whose zone has the machine type. Throws CloudError: if there is none; if a type
// is not what the catalog has a price for; if the limits of the quotas, of all these regions
// together, have no room for so many workers. Quotas that are only in use now are logged.
awaitable<std::vector<Offer>> check_offers(ComputeClient& client, const PriceCatalog& prices,
                                           std::vector<Offer> offers, VmDemand demand,
                                           unsigned workers);

}  // namespace scavenger::gcp
