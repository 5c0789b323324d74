#pragma once

#include <limits>

namespace scavenger::perfmodel {

inline constexpr double kHour = 3600.0;  // seconds
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace scavenger::perfmodel
