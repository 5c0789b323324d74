// What stays that follow each other tell of their configurations: each beside the one before, so
// that what the neighbours on the machine do, which slows down both, tells nothing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "perfmodel/search/exploration.h"
#include "perfmodel/search/relative_times.h"

namespace scavenger::perfmodel {

// As few iterations are measured, after the first three of a stay, as decide.
inline constexpr std::uint64_t kFewestMeasured = 3;
// Of one iteration; what it is really is not known from a few.
inline constexpr double kUsualIterationScatter = 0.05;

// As it was last measured there; of all of it, if the last ten seconds are fewer iterations than
// decide, since one of them may take long by chance.
std::optional<MeasuredPace> pace_at_end(const Stay& stay);
bool is_measured(const Stay& stay);
// Seconds per iteration of all of it, the first ones with it.
double mean_pace(const Stay& stay);
// What is known of it before it is measured. The first iteration is left out if there are others:
// workers that are new make in it what later ones find.
double early_pace(const Stay& stay);
// Of the quickest look there, in seconds per iteration, if looks there were broken off and none
// measured it. Iterations take long by chance, and never short: so it is at most so slow.
std::optional<double> pace_before_break_off(std::span<const Stay> stays, const Configuration& at);
// Of ln(mean).
double variance_of(const MeasuredPace& pace);

// How much the machine's pace changes while nothing else does: the variance of its logarithm from
// one stay to the next.
double drift_variance(std::span<const Stay> stays);

// Oldest first. A stay that was broken off before it was measured tells little: iterations take
// long by chance, and never short, so the slower it was the less it tells.
std::vector<PairedTime> paired_times(std::span<const Stay> stays);

}  // namespace scavenger::perfmodel
