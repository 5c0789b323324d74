// How many epochs a job still takes until its target, by the curve of its evaluations and by what
// earlier jobs took. Pure.
#pragma once

#include <optional>
#include <span>

#include "elastic/history/run_numbers.h"
#include "perfmodel/store/model_record.h"

namespace scavenger::elastic {

struct EpochsLeft {
  double epochs = 0.0;      // the median
  double log_spread = 0.0;  // standard deviation of their logarithm
};

// Nothing if the job has no target, or nothing tells: no earlier job has reached this target, and
// fewer than four evaluations were made, or they do not go towards it.
//
// The curve is followed in two ways, a straight line over ln(epoch) and a power law of what is
// missing to the best possible value, and the middle of both counts; the farther they have to be
// followed, the less they are trusted. Earlier jobs with another batch size count less, too.
std::optional<EpochsLeft> epochs_to_target(const RunNumbers& numbers,
                                           std::span<const perfmodel::EpochRow> earlier);

}  // namespace scavenger::elastic
