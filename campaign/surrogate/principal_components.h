// Principal components of profiles: hundreds of bins that vary together become some numbers that a
// small network can learn.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace scavenger::surrogate {

struct PrincipalComponents {
  std::vector<double> mean;                     // [bins]
  std::vector<std::vector<double>> directions;  // [components][bins], orthonormal
  std::vector<double> deviations;  // standard deviation of the profiles along each; descending

  std::size_t components() const { return directions.size(); }
  // Coordinates along the directions, in deviations.
  std::vector<double> coordinates(std::span<const double> profile) const;
  std::vector<double> profile(std::span<const double> coordinates) const;
};

// Which components are kept, at least 1.
struct ComponentChoice {
  double share = 1.0;     // of the variance; as many as hold it
  std::size_t most = 32;  // components
  // Leaves out those beyond the first eight that the noise of the bins alone would make. So
  // simulations may be short: noise that no component has is not learnt.
  bool without_noise = true;
};

// Requires two profiles of the same length. Profiles that are all equal get one component of
// deviation 1.
PrincipalComponents principal_components(std::span<const std::vector<double>> profiles,
                                         const ComponentChoice& choice);

}  // namespace scavenger::surrogate
