// What every reader makes of its files: samples and labels in memory, in the order of the files.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger {

enum class ElementType : std::uint32_t { kUint8 = 0, kFloat32 = 1 };

struct SampleTable {
  ElementType element_type = ElementType::kUint8;
  std::vector<std::int64_t> sample_shape;  // {channels, height, width} or {features}
  // Samples x product(sample_shape), row-major, in the one vector that element_type says.
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  std::vector<std::int32_t> labels;  // one for each sample, in [0, classes)
};

}  // namespace scavenger
