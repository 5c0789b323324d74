// Compute Engine as a kind of provider.
#pragma once

#include "runtime/provider/provider_factory.h"

namespace scavenger::gcp {

// Its check() asks for a token and for the project, which needs the network.
const ProviderFactory& gcp_provider_factory();

}  // namespace scavenger::gcp
