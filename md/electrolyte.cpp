#include "md/electrolyte.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "md/limits.h"
#include "md/slab_sheets.h"
#include "runtime/base/random.h"

namespace scavenger::md {
namespace {

constexpr double kElementaryCharge = 1.602176634e-19;     // C
constexpr double kVacuumPermittivity = 8.8541878128e-12;  // F/m
constexpr double kBoltzmann = 1.380649e-23;               // J/K
constexpr double kPerCubicNmOfMolar = 0.602214076;        // ions per nm^3 of a mol/l

double bjerrum_nm(double permittivity, double kelvin) {
  return kElementaryCharge * kElementaryCharge /
         (4.0 * std::numbers::pi * kVacuumPermittivity * permittivity * kBoltzmann * kelvin) * 1e9;
}

struct Counts {
  std::int64_t positive = 0;
  std::int64_t negative = 0;
  std::int64_t counterions = 0;
  std::int64_t all() const { return positive + negative + counterions; }
};

// The counts of nanoconfinement-md: whole ions of the salt, and as many counterions at each wall.
Counts counts_of(const ElectrolyteSettings& settings, double side_nm) {
  const std::int64_t valency = settings.positive_valency;
  const double volume = side_nm * side_nm * settings.slit_nm;
  auto negative = static_cast<std::int64_t>(settings.concentration * kPerCubicNmOfMolar * volume);
  if (negative % valency != 0) negative += valency - negative % valency;
  const double wall_charges =
      -settings.surface_charge * side_nm * side_nm * 1e-18 / kElementaryCharge;
  return {.positive = -settings.negative_valency * negative / valency,
          .negative = negative,
          .counterions = 2 * static_cast<std::int64_t>(wall_charges)};
}

void check(const ElectrolyteSettings& settings) {
  check_range("--slit", settings.slit_nm, 0.5, 100.0);
  check_range("--concentration", settings.concentration, 0.0, 10.0);
  check_range("--surface-charge", settings.surface_charge, -1.0, 0.0);
  check_range("--positive-valency", settings.positive_valency, 1, 4);
  check_range("--negative-valency", settings.negative_valency, -4, -1);
  check_range("--positive-diameter", settings.positive_diameter_nm, 0.05, 5.0);
  check_range("--negative-diameter", settings.negative_diameter_nm, 0.05, 5.0);
  check_range("--side", settings.side_nm, 0.0, 1000.0);
  check_range("--permittivity", settings.permittivity, 1.0, 1000.0);
  check_range("--kelvin", settings.kelvin, 1.0, 10000.0);
}

// A lattice of at least `ions` places that are `gap` or more from the walls.
std::vector<Vector> places_for(std::int64_t ions, const Vector& size, double gap) {
  const double height = size[2] - 2.0 * gap;
  double spacing = std::cbrt(size[0] * size[1] * std::max(height, 1.0) / static_cast<double>(ions));
  std::int64_t along = 0;
  std::int64_t layers = 0;
  do {
    along = static_cast<std::int64_t>(size[0] / spacing);
    layers = 1 + static_cast<std::int64_t>(height / spacing);
    spacing *= 0.995;
  } while (along * along * layers < ions);
  const double step = size[0] / static_cast<double>(along);
  const double layer = layers > 1 ? height / static_cast<double>(layers - 1) : 0.0;
  std::vector<Vector> places;
  for (std::int64_t k = 0; k < along * along * layers; ++k) {
    const std::int64_t row = k / along;
    const std::int64_t floor = row / along;
    const auto i = static_cast<double>(k % along);
    const auto j = static_cast<double>(row % along);
    const auto l = static_cast<double>(floor);
    const double z = layers > 1 ? gap + l * layer - size[2] / 2.0 : 0.0;
    places.push_back({(i + 0.5) * step - size[0] / 2.0, (j + 0.5) * step - size[1] / 2.0, z});
  }
  if (std::min(step, layers > 1 ? layer : step) < 0.85) {
    throw InputError({.what = fmt::format("{} ions do not fit between the walls", ions),
                      .where = "",
                      .remedy = "use a lower concentration or a wider slit"});
  }
  return places;
}

void add_ions(System& system, std::int64_t count, double diameter, int valency,
              std::uint8_t species) {
  for (std::int64_t k = 0; k < count; ++k) {
    system.radius.push_back(static_cast<float>(diameter / 2.0));
    system.charge.push_back(static_cast<float>(valency));
    system.species.push_back(species);
  }
}

// Ions of all species are spread over the places at random, but the same for every seed.
void place_ions(System& system) {
  const float largest = *std::max_element(system.radius.begin(), system.radius.end());
  const std::vector<Vector> places =
      places_for(static_cast<std::int64_t>(system.particles()), system.box.size,
                 1.1 * static_cast<double>(largest));
  RandomStream stream(0, "ion places");
  const std::vector<std::uint32_t> order =
      permutation(stream, static_cast<std::uint32_t>(places.size()));
  for (std::size_t i = 0; i < system.particles(); ++i) {
    system.initial_positions.push_back(places[order[i]]);
  }
}

}  // namespace

System make_electrolyte(const ElectrolyteSettings& settings) {
  check(settings);
  const double unit = std::min(settings.positive_diameter_nm, settings.negative_diameter_nm);
  const double default_side = settings.concentration > 0.5 ? 10.0 : 15.0;
  const double side_nm = settings.side_nm > 0.0 ? settings.side_nm : default_side;
  const Counts counts = counts_of(settings, side_nm);
  check_particles(counts.all());
  System system;
  system.identity = fmt::format(
      "electrolyte slit_nm={} concentration={} surface_charge={} valencies={}/{} diameters={}/{} "
      "side_nm={} permittivity={} kelvin={}",
      settings.slit_nm, settings.concentration, settings.surface_charge, settings.positive_valency,
      settings.negative_valency, settings.positive_diameter_nm, settings.negative_diameter_nm,
      side_nm, settings.permittivity, settings.kelvin);
  system.box = {.size = {side_nm / unit, side_nm / unit, settings.slit_nm / unit},
                .has_walls = true};
  const double positive = settings.positive_diameter_nm / unit;
  add_ions(system, counts.positive, positive, settings.positive_valency, 0);
  add_ions(system, counts.counterions, positive, 1, 0);
  add_ions(system, counts.negative, settings.negative_diameter_nm / unit, settings.negative_valency,
           1);
  system.species_names = {"positive", "negative"};
  place_ions(system);
  system.law.least_s2 = static_cast<float>(std::pow(2.0, -1.0 / 3.0));
  system.law.energy_shift = 1.0F;
  system.law.bjerrum =
      static_cast<float>(bjerrum_nm(settings.permittivity, settings.kelvin) / unit);
  set_sheets(system.law, system.box.size[0], system.box.size[2]);
  system.length_unit = unit;
  system.density_unit = 1.0 / (unit * unit * unit * kPerCubicNmOfMolar);
  return system;
}

}  // namespace scavenger::md
