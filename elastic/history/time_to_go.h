// What is left of a job, in seconds and dollars. Pure. The terminal, the page, and the search's
// question whether a move is worth its cost all reckon with this.
#pragma once

#include <optional>

#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// How long the job still takes by its limits and the mean wall time per iteration of the present
// phase, without the time in which it was paused.
struct TimeToGo {
  double seconds = 0.0;
  double seconds_low = 0.0;  // 95 % interval of what an iteration takes
  double seconds_high = 0.0;
  double cost = 0.0;
  bool at_most = false;  // a target may end the job before
};

// Nothing if no limit is set, or no iteration was seen in this phase.
std::optional<TimeToGo> estimate_time_to_go(const RunNumbers& numbers);

// The part of the way to its target that the job has gone, from 0 to 1: each membership's samples
// count as the part that they are of a whole job with that batch, by the prediction, which must
// not be relative.
double progress_to_target(const RunNumbers& numbers, const fact::Prediction& prediction);

// What is left until the target at one of the prediction's candidates. If the prediction is
// relative nobody knows how long the job will take: as long again as it has taken, and a minute at
// least.
double seconds_to_target(const RunNumbers& numbers, const fact::Prediction& prediction,
                         const fact::PredictedConfiguration& at);

// The same by the last prediction, at the configuration that it led to. 95 % interval.
struct PredictedToGo {
  double seconds = 0.0;
  double seconds_low = 0.0;
  double seconds_high = 0.0;  // not finite: open
  double cost = 0.0;
};

// Nothing if no prediction is in seconds, or the job has ended.
std::optional<PredictedToGo> predicted_to_go(const RunNumbers& numbers);

}  // namespace scavenger::elastic
