// Computes metrics from the sums of an evaluation. Pure.
#pragma once

#include "runtime/config/job_config.h"
#include "runtime/training/evaluation_sums.h"

namespace scavenger {

//   accuracy       correct / predictions
//   top5_accuracy  correct_in_top5 / predictions
//   loss           mean over predictions
//   perplexity     exp of the mean negative log likelihood, without label smoothing
//   bleu           0 to 100 (bleu.h)
//   mse            mean over values
// Requires at least one prediction.
double metric_value(Metric metric, const EvaluationSums& sums);

}  // namespace scavenger
