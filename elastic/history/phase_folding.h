// Keeps the numbers of a run with many memberships within bounds.
#pragma once

#include <cstddef>
#include <vector>

#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// When a run has more than kMostPhases phases, all but the first and the latest kKeptPhases are
// added together: those with the same workers and batch size, even shares apart from others, become
// one phase (PhaseNumbers::memberships), so that what remains does not grow with their number. The
// first stays, since savings are compared with it. `first_own`: the index of the first phase of
// this process; it moves with the phases. Pure, so a replay of the log folds at the same events.
inline constexpr std::size_t kMostPhases = 128;
inline constexpr std::size_t kKeptPhases = 64;
void fold_old_phases(std::vector<PhaseNumbers>& phases, std::size_t& first_own);

}  // namespace scavenger::elastic
