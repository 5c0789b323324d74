// What machines can be expected to do, relative to each other, before anything was measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

// Cores by machine type, as many as a worker computes with there: `threads_per_worker` at most, if
// that is not 0; or 1 each if all types have GPUs of one kind. Empty if the catalogue does not tell
// types apart, does not know their cores, or has GPUs of several kinds: then the first iterations
// must show it. Clocks are not known before, and what a core does is measured soon enough.
std::map<std::string, double> machine_powers(const MachineCatalogue& catalogue,
                                             std::uint32_t threads_per_worker);

}  // namespace scavenger::elastic
