// What a run has measured of machine types: of whole memberships on one type, and of each worker's
// own part in it at every share that it had. Pure functions of the numbers of its log.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "elastic/history/run_numbers.h"
#include "elastic/plan/known_model.h"
#include "perfmodel/time/mixed_cluster.h"

namespace scavenger::elastic {

// Fewer say too little: of a membership, the first ones left out.
inline constexpr std::uint64_t kMeasuredIterations = 20;

inline constexpr const char* kThisJob = "this job";  // its name in rows of measured_machines()

// By worker: the type of the machine on which it ran at `time` of the job's life.
std::map<std::uint32_t, std::string> machine_types_at(const RunNumbers& numbers, double time);

// Whether this membership was measured well enough.
bool is_measured(const PhaseNumbers& phase);

// A machine that was much slower than others of its type in the memberships that began from `since`
// on and before `until`. What it does says nothing of its type.
struct SlowMachine {
  std::uint32_t worker = 0;
  double since = 0.0;
  double until = 0.0;
  double slowdown = 1.0;  // its seconds beside the others', for the same share

  bool is_at(double time) const { return time >= since && time < until; }
  bool is_in(const PhaseNumbers& phase) const;
};

// The share of an iteration of this membership that a machine like the others would save in the
// place of this worker's, which is so much slower. With dynamic sharing the others had to wait
// less.
double saving_without_slow(const PhaseNumbers& phase, std::uint32_t worker, double slowdown,
                           perfmodel::Sharing sharing);

// Iterations of memberships on one type, iterations that one machine of a type lengthened, and
// compute of each worker at each share that it had: with `slow` machines as if others like the rest
// had been in their place, unless the same machines were measured without slow ones, too.
KnownModel measured_machines(const RunNumbers& numbers, std::span<const SlowMachine> slow = {},
                             perfmodel::Sharing sharing = perfmodel::Sharing::kEven);

}  // namespace scavenger::elastic
