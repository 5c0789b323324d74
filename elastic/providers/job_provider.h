// The provider that a job's configuration names: the only place that knows all kinds of them.
#pragma once

#include <string>
#include <vector>

#include "runtime/provider/provider_factory.h"

namespace scavenger::elastic {

const ProviderFactory& provider_factory(ProviderType type);

// What killed jobs have left on this machine, and kinds of providers have now removed. Blocks for
// seconds.
std::vector<std::string> clean_after_killed_jobs();

}  // namespace scavenger::elastic
