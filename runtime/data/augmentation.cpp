#include "runtime/data/augmentation.h"

#include "runtime/base/random.h"

namespace scavenger {

Augmentation draw_augmentation(const AugmentConfig& config, std::uint64_t seed, std::uint64_t epoch,
                               std::uint32_t sample) {
  RandomStream stream(seed, "augment", {epoch, sample});
  Augmentation result{.top = config.crop_padding, .left = config.crop_padding, .flip = false};
  if (config.flip) result.flip = stream.below(2) == 1;
  if (config.crop_padding > 0) {
    const std::uint64_t places = 2 * std::uint64_t{config.crop_padding} + 1;
    result.top = static_cast<std::uint32_t>(stream.below(places));
    result.left = static_cast<std::uint32_t>(stream.below(places));
  }
  return result;
}

}  // namespace scavenger
