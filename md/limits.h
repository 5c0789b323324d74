// What a simulation's settings may be.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "runtime/base/error.h"

namespace scavenger::md {

// All pairs are computed, so that a step takes a time that grows with the square of their number.
inline constexpr std::int64_t kMostParticles = 16384;

inline void check_particles(std::int64_t particles) {
  if (particles >= 2 && particles <= kMostParticles) return;
  throw InputError({.what = fmt::format("the system has {} particles", particles),
                    .where = "",
                    .remedy = fmt::format("use from 2 to {}; other engines, such as LAMMPS, are "
                                          "made for more",
                                          kMostParticles)});
}

// `name`: the option of scavenger-md.
inline void check_range(const char* name, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw InputError({.what = fmt::format("{} is {}", name, value),
                    .where = "",
                    .remedy = fmt::format("use a number from {} to {}", least, most)});
}

}  // namespace scavenger::md
