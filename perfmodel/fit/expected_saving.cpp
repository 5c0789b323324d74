#include "perfmodel/fit/expected_saving.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace scavenger::perfmodel {
namespace {

double standard_normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

}  // namespace

// By logarithms, since exp(x) alone may overflow.
double expected_saving(double mean, double spread) {
  if (!(spread > 0.0)) return std::max(0.0, -std::expm1(mean));
  const double z = -mean / spread;
  return standard_normal_cdf(z) -
         std::exp(mean + 0.5 * spread * spread + std::log(standard_normal_cdf(z - spread)));
}

}  // namespace scavenger::perfmodel
