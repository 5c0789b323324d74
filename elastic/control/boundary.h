// At which iterations something has to happen between two iterations.
#pragma once

#include <cstdint>

#include "runtime/training/membership.h"

namespace scavenger::elastic {

// "Every so many epochs", or every so many iterations if that is not 0. Neither: never.
struct Interval {
  double epochs = 0.0;
  std::uint64_t iterations = 0;
};

inline constexpr std::uint64_t kNever = UINT64_MAX;

// The first iteration count above `done` at which `interval` comes round, or kNever. Counted from
// the start of the job, in samples for epochs, so that a change of K or B moves no evaluation.
std::uint64_t next_boundary(const Interval& interval, const Membership& membership,
                            std::uint64_t done, std::uint64_t samples_per_epoch);

// The iteration count at which `epochs` epochs have been consumed.
std::uint64_t iterations_for_epochs(double epochs, const Membership& membership,
                                    std::uint64_t samples_per_epoch);

}  // namespace scavenger::elastic
