// Adds measured iterations to the timers of a phase, one by one or as a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// Iteration i of a series whose seconds are known. `workers` by rank.
void add_iteration(const fact::Iterations& iterations, std::size_t i, IterationTimers& timers,
                   std::vector<WorkerNumbers>& workers);

// `workers` by rank.
void add_block(const fact::IterationBlock& block, IterationTimers& timers,
               std::vector<WorkerNumbers>& workers);

// Where the last iteration of a block lies that was logged at `time`.
IterationPlace place_of(const PhaseNumbers& phase, const fact::IterationBlock& block, double time,
                        std::uint64_t samples_per_epoch);

// A block's part of a curve.
CurvePoint curve_point(const fact::IterationBlock& block, const IterationPlace& last,
                       const fact::SeriesDigest& digest);

}  // namespace scavenger::elastic
