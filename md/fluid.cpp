#include "md/fluid.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "md/limits.h"

namespace scavenger::md {
namespace {

const double kMinimum = std::pow(2.0, 1.0 / 6.0);  // of the Lennard-Jones potential

double energy_at(double r) {
  const double s6 = std::pow(r, -6.0);
  return 4.0 * (s6 * s6 - s6);
}
double force_at(double r) {
  const double s6 = std::pow(r, -6.0);
  return 24.0 * (2.0 * s6 * s6 - s6) / r;
}

void set_tail(System& system, double density, double cutoff) {
  const double r3 = std::pow(cutoff, -3.0);
  const double r9 = r3 * r3 * r3;
  system.tail_energy_per_particle = 8.0 / 3.0 * std::numbers::pi * density * (r9 / 3.0 - r3);
  system.tail_pressure = 16.0 / 3.0 * std::numbers::pi * density * density * (2.0 / 3.0 * r9 - r3);
}

// The places of a face-centred cubic lattice that fills the box, as many as there are atoms.
std::vector<Vector> lattice(std::int64_t atoms, double side) {
  std::int64_t cells = 1;
  while (4 * cells * cells * cells < atoms) ++cells;
  constexpr double kCorners[4][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
  std::vector<Vector> places;
  const double step = side / static_cast<double>(cells);
  const std::int64_t all = 4 * cells * cells * cells;
  for (std::int64_t k = 0; k < atoms; ++k) {
    const std::int64_t place = k * all / atoms;  // spread over the lattice
    const std::int64_t cell = place / 4;
    const double* corner = kCorners[place % 4];
    const std::int64_t at[3] = {cell % cells, cell / cells % cells, cell / cells / cells};
    Vector position;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      position[axis] = (static_cast<double>(at[axis]) + corner[axis] + 0.25) * step - side / 2.0;
    }
    places.push_back(position);
  }
  return places;
}

const char* name(FluidForce force) {
  switch (force) {
    case FluidForce::kTruncated:
      return "truncated";
    case FluidForce::kShiftedForce:
      return "shifted_force";
    case FluidForce::kRepulsive:
      return "repulsive";
  }
  return "";
}

PairForce law_of(const FluidSettings& settings, double cutoff) {
  PairForce law;
  law.least_s2 = static_cast<float>(1.0 / (cutoff * cutoff));
  if (settings.force == FluidForce::kRepulsive) law.energy_shift = 1.0F;
  if (settings.force == FluidForce::kShiftedForce) {
    law.force_shift = static_cast<float>(force_at(cutoff));
    law.energy_shift = static_cast<float>(-energy_at(cutoff) - cutoff * force_at(cutoff));
  }
  return law;
}

}  // namespace

System make_fluid(const FluidSettings& settings) {
  check_particles(settings.atoms);
  check_range("--density", settings.density, 1e-6, 1.5);
  check_range("--temperature", settings.temperature, 1e-3, 1e3);
  check_range("--cutoff", settings.cutoff, 1.0, 100.0);
  const double cutoff = settings.force == FluidForce::kRepulsive ? kMinimum : settings.cutoff;
  const double side = std::cbrt(static_cast<double>(settings.atoms) / settings.density);
  if (2.0 * cutoff > side) {
    throw InputError(
        {.what = fmt::format("the cutoff {} exceeds half of the box, {:.3f}", cutoff, side / 2.0),
         .where = "",
         .remedy = "use more atoms or a shorter cutoff"});
  }
  System system;
  system.identity =
      fmt::format("fluid atoms={} density={} temperature={} cutoff={} force={}", settings.atoms,
                  settings.density, settings.temperature, cutoff, name(settings.force));
  system.box = {.size = {side, side, side}, .has_walls = false};
  const auto atoms = static_cast<std::size_t>(settings.atoms);
  system.radius.assign(atoms, 0.5F);
  system.species.assign(atoms, 0);
  system.species_names = {"atoms"};
  system.initial_positions = lattice(settings.atoms, side);
  system.law = law_of(settings, cutoff);
  system.temperature = settings.temperature;
  if (settings.force == FluidForce::kTruncated) set_tail(system, settings.density, cutoff);
  return system;
}

}  // namespace scavenger::md
