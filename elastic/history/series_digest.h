// A measured series as the log keeps it, and back.
#pragma once

#include "elastic/events/event.h"
#include "elastic/events/series_statistics.h"

namespace scavenger::elastic {

// `width` as in QuantileSketch::encode(): with 1 its quantiles are those of the values.
fact::SeriesDigest digest_of(const SeriesStatistics& series, int width);
// Without quantiles.
fact::SeriesDigest digest_of(const RunningMoments& moments, double minimum, double maximum);

// Requires a digest that was read, or that digest_of() has made.
SeriesStatistics statistics_of(const fact::SeriesDigest& digest);
RunningMoments moments_of(const fact::SeriesDigest& digest);

}  // namespace scavenger::elastic
