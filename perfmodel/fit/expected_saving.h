// What may be saved by a choice whose cost is uncertain.
#pragma once

namespace scavenger::perfmodel {

// E[max(0, 1 - exp(x))] of a normal x with this mean and standard deviation: x is the logarithm of
// the choice's cost, as a multiple of what else would be spent. Spread 0: x is certain.
double expected_saving(double mean, double spread);

}  // namespace scavenger::perfmodel
