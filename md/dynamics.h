// Moves the particles of a system: velocity Verlet, with the Langevin thermostat in between (the
// splitting BAOAB of Leimkuhler and Matthews, 2013, whose averages are exact to second order).
//
// The future depends on nothing but the Phase: forces follow from positions, and random numbers
// from the seed, the step and the particle. So a run that is cut into any segments gives the same
// bits. Thread: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "md/system.h"

namespace scavenger::md {

struct Energies {
  double potential = 0.0;  // of all particles, with the correction for the tail
  double kinetic = 0.0;
  double temperature = 0.0;
  double pressure = 0.0;  // of a periodic system; between walls it has no meaning
};

// The simulation cannot go on: a particle left the box, or its place is not a number.
class Diverged final : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Dynamics final {
 public:
  // From the beginning, with velocities drawn for the temperature.
  Dynamics(const System& system, const MotionSettings& settings, const PairKernels& kernels);
  // From a phase. Requires as many particles as the system has.
  Dynamics(const System& system, const MotionSettings& settings, const PairKernels& kernels,
           Phase phase);

  const Phase& phase() const { return phase_; }
  // `with_energies`: computes the energies together with the forces, so that energies() need not
  // compute both again. The motion has the same bits. Throws Diverged.
  void step(bool with_energies = false);
  Energies energies();

 private:
  void prepare();
  void compute_forces(bool with_energies);
  void add_wall_forces();
  void kick(double time);
  void drift(double time);
  void exchange_heat();
  bool is_thermostatted() const;

  const System& system_;
  MotionSettings settings_;
  const PairKernels& kernels_;
  Phase phase_;
  std::size_t padded_ = 0;
  std::array<std::vector<std::int32_t>, 3> steps_;  // positions for the kernel
  std::array<std::vector<float>, 3> pair_force_;
  std::vector<double> wall_force_;
  std::vector<float> radius_;
  std::vector<float> charge_;
  double span_[3] = {};  // what 2^32 integer steps span
  double pair_energy_ = 0.0;
  double virial_ = 0.0;
  double wall_energy_ = 0.0;
  bool has_energies_ = false;  // of the present positions
};

}  // namespace scavenger::md
