// Makes one result of the results of a simulation's segments. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "campaign/result/result_files.h"

namespace scavenger::campaign {

struct SegmentResult {
  std::uint64_t steps = 0;
  std::vector<ResultFile> files;
};

// By the rule "last": the files of the last segment. By "mean_by_steps": the mean of each number of
// JSON and CSV files, weighted by steps. Columns of `profile.errors` are standard errors of
// independent segments, sqrt(sum of (w e)^2). Other files are those of the last segment.
// Throws DataError if segments have different tables. Requires at least one segment.
std::vector<ResultFile> merge_results(const std::vector<SegmentResult>& segments,
                                      const SimulationResult& rules);

}  // namespace scavenger::campaign
