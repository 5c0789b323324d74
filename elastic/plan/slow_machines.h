// Which machines of a run were much slower than others of their type (lemon.h), whether it still
// has them or not. Pure functions of the numbers of its log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/plan/measured_machines.h"

namespace scavenger::elastic {

// When this worker got the machine that it had at `time`, and when it got the next one: 0 and
// infinity if the log does not say.
double machine_begin(const RunNumbers& numbers, std::uint32_t worker, double time);
double machine_end(const RunNumbers& numbers, std::uint32_t worker, double time);

// What one machine did in one membership of ten iterations at least, with its share of the batch.
struct MachineTime {
  std::string type;
  std::uint32_t worker = 0;
  double since = 0.0;  // when the worker got the machine
  double share = 0.0;  // samples
  RobustMean seconds;  // of forward and backward
  std::uint64_t iterations = 0;
};
std::vector<MachineTime> machine_times(const RunNumbers& numbers);

// Each is held against all others of its type that the run has had, at any time.
std::vector<SlowMachine> slow_machines_of_run(const RunNumbers& numbers);

}  // namespace scavenger::elastic
