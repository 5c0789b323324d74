// What a running job knows of its machines beside their speed (elastic/plan/measured_machines.h),
// and of one worker at one share. Pure functions of the numbers of its log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/plan/measured_machines.h"

namespace scavenger::elastic {

// Workers whose machine at that time was a spot machine.
std::set<std::uint32_t> spot_workers_at(const RunNumbers& numbers, double time);

// Seconds of forward and backward of one worker in the latest membership that was measured and in
// which it had this share.
struct ShareTime {
  double seconds = 0.0;
  double others = 0.0;  // the slowest of the other workers in the same membership
};
std::optional<ShareTime> share_time(const RunNumbers& numbers, std::uint32_t worker,
                                    std::uint32_t share, double since);

// From the request of a machine until it was ready, the mean; nothing: none was.
std::optional<double> mean_start_seconds(const RunNumbers& numbers);

// For which the job has stood still for each machine that was lost, the mean; nothing: none was.
std::optional<double> standstill_seconds(const RunNumbers& numbers);

// Workers whose machine of this type was refused so often since then, mostly once by each zone, and
// which have got none.
std::size_t refused_workers_since(const RunNumbers& numbers, const std::string& type, double time,
                                  std::size_t refusals);

// Whether this worker does not train, though it has done so since then, or its machine was taken
// away.
bool was_lost_since(const RunNumbers& numbers, std::uint32_t worker, double time);

// The type of most of these workers' machines; empty if none is known.
std::string commonest_type(const std::vector<std::uint32_t>& workers,
                           const std::map<std::uint32_t, std::string>& types);

}  // namespace scavenger::elastic
