// Images of a batch as they are in the data set, for a trainer that crops, mirrors and normalises
// them itself, where it computes: a byte for each value goes there in place of a float.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/training/cache_line_vector.h"

namespace scavenger {

// value = (raw * scale - mean) * inverse_deviation, each step rounded to float.
struct ChannelNormalisation {
  float scale = 1.0F;
  float mean = 0.0F;
  float inverse_deviation = 1.0F;
  bool operator==(const ChannelNormalisation&) const = default;
};

// An image is padded by `padding` raw zeros on each side, cropped to its own size at (top, left) of
// the padded image, mirrored left to right if it flips, and normalised.
struct RawImages {
  // Of the batch's size x channels x height x width values, row-major, in one of these two.
  std::vector<std::uint8_t> bytes;
  CacheLineVector<float> floats;
  std::vector<std::int32_t> changes;  // of each image: top, left, and 1 if it flips
  std::uint32_t padding = 0;
  std::vector<ChannelNormalisation> channels;  // one for all channels, or one for each

  bool is_empty() const { return bytes.empty() && floats.empty(); }
};

inline constexpr std::int64_t kNumbersOfChange = 3;

}  // namespace scavenger
