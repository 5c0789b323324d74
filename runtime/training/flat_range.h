// A range of a flat vector.
#pragma once

#include <cstdint>

namespace scavenger {

// Units: floats from the start of the vector.
struct FlatRange {
  std::uint64_t first = 0;
  std::uint64_t size = 0;
  std::uint64_t last() const { return first + size; }
};

}  // namespace scavenger
