#include "perfmodel/survival/checkpoint_rule.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kLeastCheckpointSeconds = 1e-3;

}  // namespace

double checkpoint_interval_seconds(const Survival& survival, double age,
                                   const CheckpointCost& cost) {
  SCAVENGER_CHECK(cost.seconds >= 0.0 && cost.machines > 0.0);
  if (std::isinf(cost.seconds)) return kNeverSeconds;
  const double rate = cost.machines * std::max(survival.hazard(age), survival.mean_hazard());
  return std::sqrt(2.0 * std::max(cost.seconds, kLeastCheckpointSeconds) / rate);
}

double next_segment_seconds(const Survival& survival, double age, double work,
                            const CheckpointCost& cost) {
  SCAVENGER_CHECK(work > 0.0);
  // With the time of a checkpoint to spare, since none takes exactly its mean.
  const double spare = std::isinf(cost.seconds) ? 0.0 : cost.seconds;
  const double room = survival.wall_seconds() - age - spare;
  const double interval = checkpoint_interval_seconds(survival, age, cost);
  const double parts = std::max(1.0, std::round(work / interval));
  const double even = work / parts;
  if (even >= work && work < room) return work;
  return before_wall_seconds(survival, age, even, cost);
}

double before_wall_seconds(const Survival& survival, double age, double interval,
                           const CheckpointCost& cost) {
  // With the time of a checkpoint to spare, since none takes exactly its mean.
  const double room = survival.wall_seconds() - age - 2.0 * cost.seconds;
  const double segment = std::min(interval, room);
  const double least = std::min(std::max(cost.seconds, kLeastCheckpointSeconds), interval);
  return segment >= least ? segment : 0.0;
}

}  // namespace scavenger::perfmodel
