// After a job has settled on its machines: whether it can go on so. Pure.
#pragma once

#include <vector>

#include "elastic/events/event.h"
#include "elastic/vms/race/race_view.h"

namespace scavenger::elastic {

// Mostly nothing; else one step, the first of these that holds:
// - With spot machines and a limit of time that would not hold on them, the job moves to machines
//   on demand (deadline_guard.h).
// - A machine that is much slower than the others of its type (lemon.h) is replaced, if that
//   repays the other one's start.
// - If the seconds per iteration contradict the plan, or it is time to look at other batch sizes
//   again, the rest of the job is planned again.
std::vector<RunEvent> watch(const RaceView& view);

}  // namespace scavenger::elastic
