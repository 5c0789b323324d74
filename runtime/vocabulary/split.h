// The two parts of a job's data.
#pragma once

#include <array>

#include "runtime/vocabulary/word.h"

namespace scavenger {

// Decision logs hold the numbers: add at the end.
enum class Split { kTrain, kTest };

inline constexpr std::array<Named<Split>, 2> kSplits{{
    {Split::kTrain, "train"},
    {Split::kTest, "test"},
}};
static_assert(is_complete(kSplits, Split::kTest));

constexpr const auto& table_of(Split) {
  return kSplits;
}

}  // namespace scavenger
