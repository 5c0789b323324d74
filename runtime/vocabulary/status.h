// How a job has ended.
#pragma once

#include <array>

#include "runtime/vocabulary/word.h"

namespace scavenger {

// Decision logs hold the numbers: add at the end.
enum class Status {
  kTargetReached,
  kMaxEpochs,
  kMaxIterations,
  kMaxTime,
  kMaxCost,
  kInterrupted,
  kFailed,
  kEarlyStopping
};

inline constexpr std::array<Named<Status>, 8> kStatuses{{
    {Status::kTargetReached, "target_reached"},
    {Status::kMaxEpochs, "max_epochs"},
    {Status::kMaxIterations, "max_iterations"},
    {Status::kMaxTime, "max_time"},
    {Status::kMaxCost, "max_cost"},
    {Status::kInterrupted, "interrupted"},
    {Status::kFailed, "failed"},
    {Status::kEarlyStopping, "early_stopping"},
}};
static_assert(is_complete(kStatuses, Status::kEarlyStopping));

constexpr const auto& table_of(Status) {
  return kStatuses;
}

}  // namespace scavenger
