// Forces between all pairs of particles, compiled for each instruction set and selected at run
// time.
//
// All sets give the same bits: each pair passes the same IEEE operations in the same order, none of
// them fused, and what acts on particle i is added in kLanes sums, whatever the width of the
// machine's registers. So a simulation may go on on another type of machine.
//
// Positions are integers: 2^32 of them span the box. So the nearest image of a neighbour is the
// difference modulo 2^32, which costs nothing, and differences lose nothing to rounding.
// Thread: any; the caller owns all memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/vocabulary/instruction_set.h"

namespace scavenger::md {

inline constexpr std::size_t kLanes = 16;
inline constexpr std::size_t kSheetTerms = 8;

// What acts between two particles at the distance r, with s = (radius_i + radius_j) / r, in reduced
// units: lengths in `sigma`, energies in kT or in epsilon.
struct PairForce {
  // Lennard-Jones: 4 (s^12 - s^6) + energy_shift, where s^2 > least_s2.
  float least_s2 = 0.0F;
  float energy_shift = 0.0F;
  // Subtracted from the force, so that it is zero at the cutoff (its energy is in energy_shift and
  // in r times this).
  float force_shift = 0.0F;
  // Coulomb: bjerrum charge_i charge_j / r with the nearest image. The other images are sheets with
  // a hole of the size of the box (slab_sheets.h): a force along z that only depends on dz,
  // bjerrum charge_i charge_j dz (sheet[0] + sheet[1] u + ...), u = dz^2 sheet_scale.
  float bjerrum = 0.0F;
  float sheet[kSheetTerms] = {};
  float sheet_energy[kSheetTerms] = {};  // times dz^2: minus the integral of the force
  float sheet_scale = 0.0F;
};

// All arrays have `padded` elements, a multiple of kLanes; the elements from n on are padding,
// whose radius must be above 0.
struct PairBlock {
  std::size_t n = 0;
  std::size_t padded = 0;
  const std::int32_t* position[3] = {};
  float unit[3] = {};  // length of one integer step along x, y, z
  const float* radius = nullptr;
  const float* charge = nullptr;
  float* force[3] = {};  // overwritten
  // Sums over pairs, only computed by the kernels with energies.
  double energy = 0.0;
  double virial = 0.0;  // of r . F
};

struct PairKernels {
  void (*neutral)(const PairForce& law, PairBlock& block);
  void (*neutral_energies)(const PairForce& law, PairBlock& block);
  void (*charged)(const PairForce& law, PairBlock& block);
  void (*charged_energies)(const PairForce& law, PairBlock& block);
};

// Requires that the machine supports it.
const PairKernels& pair_kernels(InstructionSet set);
// Returns the kernels of the fastest set that the machine supports.
const PairKernels& best_pair_kernels();

}  // namespace scavenger::md
