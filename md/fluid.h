// A fluid of Lennard-Jones particles, periodic in all directions. Units: sigma, epsilon, mass 1.
#pragma once

#include <cstdint>

#include "md/system.h"

namespace scavenger::md {

enum class FluidForce {
  kTruncated,     // Lennard-Jones up to the cutoff, with corrections for the tail
  kShiftedForce,  // force and energy go to zero at the cutoff: energy is conserved
  kRepulsive,     // WCA: cut and shifted at the minimum, 2^(1/6)
};

struct FluidSettings {
  std::int64_t atoms = 500;
  double density = 0.776;
  double temperature = 0.85;
  double cutoff = 3.0;  // ignored by kRepulsive
  FluidForce force = FluidForce::kTruncated;
};

// Throws InputError if a setting is out of range, or if the cutoff exceeds half of the box.
System make_fluid(const FluidSettings& settings);

}  // namespace scavenger::md
