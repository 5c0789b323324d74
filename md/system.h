// What is simulated: particles, the box, and the laws that act. Fixed during a simulation.
//
// Reduced units: lengths in the diameter of a particle, energies in kT (electrolytes) or in epsilon
// (fluids), masses 1. Time follows from these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "md/pair_kernel.h"

namespace scavenger::md {

using Vector = std::array<double, 3>;

// The box reaches from -size/2 to size/2. It is periodic, along z only without walls.
struct Box {
  Vector size = {};
  bool has_walls = false;  // purely repulsive walls at z = -size[2]/2 and size[2]/2
  double volume() const { return size[0] * size[1] * size[2]; }
};

struct System {
  // Everything that decides the trajectory, as text. A state of one system is refused for another.
  std::string identity;
  Box box;
  std::vector<float> radius;  // 0.5 for a diameter of 1
  std::vector<float> charge;  // in elementary charges; empty if no particle has one
  std::vector<std::uint8_t> species;
  std::vector<std::string> species_names;
  std::vector<Vector> initial_positions;
  PairForce law;
  double temperature = 1.0;
  // What the pairs beyond the cutoff would add, if their density were uniform.
  double tail_energy_per_particle = 0.0;
  double tail_pressure = 0.0;
  double density_unit = 1.0;  // of the profile's output, per number density in reduced units
  double length_unit = 1.0;   // of the profile's output, per reduced length

  std::size_t particles() const { return radius.size(); }
};

// How it moves.
struct MotionSettings {
  std::uint64_t seed = 1;
  double time_step = 0.005;
  double friction = 1.0;                 // of the Langevin thermostat, per time
  std::int64_t equilibration_steps = 0;  // not sampled
  bool constant_energy = false;          // after the equilibration; else constant temperature
};

// A place on its way: with the system and the settings, everything that the future depends on.
struct Phase {
  std::int64_t step = 0;
  std::vector<Vector> positions;
  std::vector<Vector> velocities;
};

}  // namespace scavenger::md
