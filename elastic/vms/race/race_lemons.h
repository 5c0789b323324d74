// A running job's machines that are much slower than others of their type (lemon.h), while it
// still seeks its type and afterwards. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/plan/measured_machines.h"
#include "elastic/vms/race/race_view.h"

namespace scavenger::elastic {

// As many iterations before a machine counts as slow, or a plan as contradicted: a few that took
// long are no reason to move.
inline constexpr std::uint64_t kSteadyIterations = 100;
// Nor is a contradicted plan made again, or another machine replaced, before the job is so much
// older: on machines whose pace goes up and down, every plan is contradicted, and one of them is
// always the slowest.
inline constexpr double kShortStretch = 1.25;

// Those that the job does not have any more, and one that it is about to replace: what they have
// measured says nothing of their type. With a slow one that it keeps the job has to reckon.
std::vector<SlowMachine> slow_machines(const RaceView& view);

// Asks for another machine in the place of a slow one, if that repays its start: while nobody is
// auditioned, and all of the job's workers are there.
std::optional<fact::VmStep> replace_lemon(const RaceView& view);

// After that: the slow one leaves if another one has come. Then a job that still seeks its type
// goes on with that.
std::vector<RunEvent> await_replacement(const RaceView& view);

}  // namespace scavenger::elastic
