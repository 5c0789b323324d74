// A smooth function of two parameters, as profiles of 40 bins, for tests that need no data.
#pragma once

#include <cmath>
#include <vector>

#include "campaign/surrogate/sample.h"

namespace scavenger::surrogate {

inline std::vector<std::vector<double>> invented_points(int side = 9) {
  std::vector<std::vector<double>> points;
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      points.push_back({4.0 + static_cast<double>(i) / (side - 1),
                        0.1 + 1.9 * static_cast<double>(j) / (side - 1)});
  return points;
}

inline Sample invented_sample(const std::vector<double>& point) {
  Sample sample{.parameters = point, .profile = {}, .errors = std::vector<double>(40, 0.01)};
  for (int bin = 0; bin < 40; ++bin) {
    const double x = bin / 39.0;
    sample.profile.push_back(1.0 + point[1] * std::exp(-std::pow(point[0] * (x - 0.3), 2)) +
                             0.3 * std::sin(2.0 * point[1] + 3.0 * x));
  }
  return sample;
}

}  // namespace scavenger::surrogate
