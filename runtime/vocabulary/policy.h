// What the best configuration is: the fastest, the cheapest, or the knee between the two.
#pragma once

#include <array>

#include "runtime/vocabulary/word.h"

namespace scavenger {

enum class Policy { kMinimumTime, kMinimumCost, kKnee };

inline constexpr std::array<Named<Policy>, 3> kPolicies{{
    {Policy::kMinimumTime, "min-time"},
    {Policy::kMinimumCost, "min-cost"},
    {Policy::kKnee, "knee"},
}};
static_assert(is_complete(kPolicies, Policy::kKnee));

constexpr const auto& table_of(Policy) {
  return kPolicies;
}

}  // namespace scavenger
