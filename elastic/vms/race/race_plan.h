// What the search for the machine type decides from all that was measured: the next audition, a
// move, or to stay. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/vms/race/race_view.h"

namespace scavenger::elastic {

// Plans the rest of the job. Returns nothing as long as nothing was measured, or somebody is
// missing whom an audition would have to wait for.
std::vector<RunEvent> decide(const RaceView& view);

// The worker that was auditioned leaves.
std::vector<RunEvent> dismiss(const RaceView& view, std::uint32_t worker, std::string reason);

// Seconds per iteration within which a job that stays where it is should remain.
struct PaceBand {
  double low = 0.0;
  double high = 0.0;
};
PaceBand band_around(double seconds);

}  // namespace scavenger::elastic
