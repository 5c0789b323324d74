// A job that is resumed with another kind of provider must not leave behind what a killed process
// of it had rented from the one before.
#pragma once

#include <string>
#include <vector>

#include "runtime/provider/provider_factory.h"

namespace scavenger::elastic {

// Ends what an earlier process of the job may have left at the provider that `earlier` names, as
// the next job with that provider would. Blocks until it is gone, or the provider gives up. Returns
// what may still be there, or why that is not known; empty: nothing. Throws Error if the provider
// cannot be used from here any more.
std::vector<std::string> end_left_machines(const JobConfig& earlier, const ProviderHost& host);

}  // namespace scavenger::elastic
