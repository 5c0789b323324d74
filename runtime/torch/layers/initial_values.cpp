#include "runtime/torch/layers/initial_values.h"

#include <algorithm>
#include <cmath>

namespace scavenger {
namespace {

InitialValues uniform(double bound) {
  return [bound](std::span<float> values, RandomStream& stream) {
    for (float& value : values) value = static_cast<float>(bound * (2.0 * stream.uniform() - 1.0));
  };
}

}  // namespace

InitialValues uniform_by_fan_in(std::int64_t fan_in) {
  return uniform(1.0 / std::sqrt(static_cast<double>(fan_in)));
}

InitialValues normal_by_fan_out(std::int64_t fan_out) {
  return normal(std::sqrt(2.0 / static_cast<double>(fan_out)));
}

InitialValues uniform_by_both_fans(std::int64_t fan_in, std::int64_t fan_out) {
  return uniform(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)));
}

InitialValues normal(double deviation) {
  return [deviation](std::span<float> values, RandomStream& stream) {
    for (float& value : values) value = static_cast<float>(deviation * stream.normal());
  };
}

InitialValues all_equal(float start) {
  return [start](std::span<float> values, RandomStream&) {
    std::fill(values.begin(), values.end(), start);
  };
}

}  // namespace scavenger
