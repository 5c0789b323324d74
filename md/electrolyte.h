// An electrolyte between two charged walls: the confined primitive model. Ions are repulsive (WCA)
// spheres in a uniform solvent; the walls are repulsive planes with a uniform charge. Two equal
// walls of infinite extent leave no field between them, so their charge only acts through the
// counterions that it brings.
//
// Units: the smaller diameter, kT, mass 1. The model and the numbers of ions are those of
// nanoconfinement-md (K. Kadupitiya, F. Sun, V. Jadhao and others).
#pragma once

#include "md/system.h"

namespace scavenger::md {

struct ElectrolyteSettings {
  double slit_nm = 4.0;           // distance between the walls
  double concentration = 1.0;     // of the salt, mol/l
  double surface_charge = -0.01;  // of each wall, C/m^2; 0 or negative
  int positive_valency = 1;
  int negative_valency = -1;
  double positive_diameter_nm = 0.415;
  double negative_diameter_nm = 0.415;
  double side_nm = 0.0;        // of the box along the walls; 0: 10 above 0.5 mol/l, else 15
  double permittivity = 80.0;  // relative, of the solvent
  double kelvin = 298.0;
};

// Counterions have the positive diameter and the valency 1. Throws InputError if a setting is out
// of range or the ions do not fit.
System make_electrolyte(const ElectrolyteSettings& settings);

}  // namespace scavenger::md
