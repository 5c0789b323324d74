// How fast a run was at each (K, B) that it has trained with.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "perfmodel/time/observation.h"

namespace scavenger::elastic {

struct MeasuredConfiguration {
  perfmodel::TimeObservation seconds;  // of an iteration, outliers left out
  std::uint64_t iterations = 0;
  double total_seconds = 0.0;  // of these iterations

  double relative_error() const { return seconds.standard_error / seconds.seconds; }
};

// Of the memberships that began at `since_seconds` of the job's life or later, those of one (K, B)
// together, by K, then B; the first iterations of each membership left out. Where shares have
// changed (docs/design/dynamic_batching.md), those with the last ones.
std::vector<MeasuredConfiguration> measured_since(const RunNumbers& numbers, double since_seconds);

// Of the membership that trains now; nothing before its first iterations are over.
std::optional<MeasuredConfiguration> measured_now(const RunNumbers& numbers);
// The same of its last ten seconds or so; nothing before they have passed.
std::optional<MeasuredConfiguration> measured_lately(const RunNumbers& numbers);

}  // namespace scavenger::elastic
