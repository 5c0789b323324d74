// From an evaluation's sums to the numbers that people know. Pure.
#pragma once

#include "runtime/config/job_config.h"
#include "runtime/training/evaluation_sums.h"

namespace scavenger {

//   accuracy       correct / predictions
//   top5_accuracy  correct_in_top5 / predictions
//   loss           mean over predictions
//   perplexity     exp of the mean negative log likelihood; label smoothing has no part in it
//   bleu           0 to 100 (bleu.h)
//   mse            mean over values
// Requires at least one prediction.
double metric_value(Metric metric, const EvaluationSums& sums);

}  // namespace scavenger
