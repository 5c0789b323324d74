// The 162 simulated density profiles of a confined electrolyte, and the published network as a
// smooth function of four parameters (shared/data/md).
#pragma once

#include <vector>

#include "campaign/surrogate/sample.h"

namespace scavenger::surrogate {

// Parameters: slit nm, concentration mol/l, surface charge C/m^2, and the diameters. The profile is
// that of the positive ions, then of the negative ones, in mol/l; errors are the published bars.
// Empty, with a warning, if the data are not here.
std::vector<Sample> published_profiles();

// The published network (5-512-256-149, ReLU) on its full grid of 3,432 points of four parameters
// (slit, positive valency, concentration, diameter); without error bars. Empty, with a warning, as
// above.
std::vector<Sample> published_network_samples();

}  // namespace scavenger::surrogate
