// Random vectors of floats for the tests of the parameter server's core.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/base/random.h"

namespace scavenger::ps {

// Normal values whose magnitudes span several decades, so that a wrong order of summation shows.
inline std::vector<float> random_floats(std::uint64_t size, std::uint64_t key) {
  RandomStream random(7, "floats", {key});
  std::vector<float> values(size);
  for (float& value : values) {
    value = static_cast<float>(random.normal() * std::pow(10.0, 4.0 * random.uniform() - 4.0));
  }
  return values;
}

}  // namespace scavenger::ps
