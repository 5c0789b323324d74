// Numbers of documents for people and programs. JSON knows neither NaN nor infinity.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace scavenger::elastic {

// Returns null for a number that is not finite.
inline nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace scavenger::elastic
