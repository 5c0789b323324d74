// Electrostatics of a slab: periodic along x and y, finite along z.
//
// A charge acts on another with its nearest image as a point. All other images are smeared to a
// uniformly charged sheet with a square hole of the size of the box (the charged sheets of Torrie
// and Valleau, 1980, and Boda, Chan and Henderson, 1998). So their force has only a component along
// z, which is a smooth function of the difference in z. The kernel computes it as a polynomial.
#pragma once

#include "md/pair_kernel.h"

namespace scavenger::md {

// Returns the force along z between unit charges (Bjerrum length 1) of all images but the nearest.
// `side` is the box along x and y.
double sheet_force(double dz, double side);

// Sets the polynomial of `law` for differences up to `height`. Throws InputError if the box is too
// narrow for it: height above twice the side.
void set_sheets(PairForce& law, double side, double height);

}  // namespace scavenger::md
