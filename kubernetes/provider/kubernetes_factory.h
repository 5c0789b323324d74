// Kubernetes as a kind of provider.
#pragma once

#include "runtime/provider/provider_factory.h"

namespace scavenger::kubernetes {

const ProviderFactory& kubernetes_provider_factory();

}  // namespace scavenger::kubernetes
