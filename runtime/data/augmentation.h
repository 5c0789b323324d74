// The random change of an image in an epoch. Pure.
#pragma once

#include <cstdint>

#include "runtime/config/job_config.h"

namespace scavenger {

// The image is padded by `crop_padding` raw zeros on each side, cropped to its original size at
// (top, left) of the padded image, and then, if `flip`, mirrored left to right.
struct Augmentation {
  std::uint32_t top = 0;
  std::uint32_t left = 0;
  bool flip = false;

  bool operator==(const Augmentation&) const = default;
};

// The result follows from the arguments alone, so it is the same for any number of workers.
Augmentation draw_augmentation(const AugmentConfig& config, std::uint64_t seed, std::uint64_t epoch,
                               std::uint32_t sample);

}  // namespace scavenger
