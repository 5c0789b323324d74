// What a running job can rent now, by what it has seen of prices and refusals. Pure.
#pragma once

#include <vector>

#include "elastic/vms/race/race_view.h"

namespace scavenger::elastic {

// The types at the price that the job pays now: that of the latest machine of each, else the
// catalogue's. Of a type that was refused in all its zones within the last ten minutes, the job can
// have no more machines than it has.
std::vector<VmType> offered_types(const RaceView& view);

}  // namespace scavenger::elastic
