// A part of event.h, which has the conventions.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger::elastic::fact {

// Of one worker's batch: its halves' gradients at the weights of `iteration`, which train nothing.
// One number per group of the `model` event's, or one for all parameters.
struct HalfBatches {
  std::uint64_t iteration = 0;
  std::uint32_t first_samples = 0;
  std::uint32_t second_samples = 0;
  double seconds = 0.0;  // that they took
  std::vector<double> first_sqr_norm;
  std::vector<double> second_sqr_norm;
  std::vector<double> whole_sqr_norm;  // of their weighted mean

  bool operator==(const HalfBatches&) const = default;
};

}  // namespace scavenger::elastic::fact
