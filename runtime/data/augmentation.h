// Which random change an image gets, in which epoch. Pure.
#pragma once

#include <cstdint>

#include "runtime/config/job_config.h"

namespace scavenger {

// Pad the image by `crop_padding` raw zeros on each side, cut the original size out at (top, left)
// of the padded image, then mirror that left to right.
struct Augmentation {
  std::uint32_t top = 0;
  std::uint32_t left = 0;
  bool flip = false;

  bool operator==(const Augmentation&) const = default;
};

// Follows from its arguments alone: the same for any number of workers.
Augmentation draw_augmentation(const AugmentConfig& config, std::uint64_t seed, std::uint64_t epoch,
                               std::uint32_t sample);

}  // namespace scavenger
