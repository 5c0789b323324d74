// Gradient noise per group of parameters (layers, or an optimizer's parameter groups), beside that
// of the whole model. Squared norms add up over groups, so the whole needs no numbers of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noise/noise_estimator.h"

namespace scavenger::noise {

// Thread: one at a time. Allocates when it is made, and when more parts come than ever before.
class GroupedNoise final {
 public:
  GroupedNoise(std::size_t groups, NoiseOptions options = {});

  // `samples`: b_k, one per part. `part_sqr_norms`: |g_k|^2 per part and group, parts x groups,
  // row-major. `batch_sqr_norms`: |sum_k (b_k / B) g_k|^2, one per group. Returns false if the
  // whole model's norms say nothing, in which case no group learns anything either.
  bool add(std::span<const double> samples, std::span<const double> part_sqr_norms,
           std::span<const double> batch_sqr_norms, double learning_rate);

  std::size_t groups() const { return groups_.size(); }
  std::optional<NoiseEstimate> group(std::size_t index) const {
    return groups_.at(index).estimate();
  }
  std::optional<NoiseEstimate> whole() const { return whole_.estimate(); }

 private:
  std::vector<NoiseEstimator> groups_;
  NoiseEstimator whole_;
  std::vector<PartNorm> parts_;  // reused
};

}  // namespace scavenger::noise
