#include "runtime/metrics/metric_value.h"

#include <cmath>

#include "runtime/base/check.h"
#include "runtime/metrics/bleu.h"

namespace scavenger {

double metric_value(Metric metric, const EvaluationSums& sums) {
  SCAVENGER_CHECK(sums.predictions > 0);
  const auto predictions = static_cast<double>(sums.predictions);
  switch (metric) {
    case Metric::kAccuracy:
      return static_cast<double>(sums.correct) / predictions;
    case Metric::kLoss:
      return sums.loss / predictions;
    case Metric::kPerplexity:
      return std::exp(sums.negative_log_likelihood / predictions);
    case Metric::kBleu:
      return bleu_score(sums.bleu);
    case Metric::kMse:
      return sums.squared_error / predictions;
    case Metric::kTop5Accuracy:
      return static_cast<double>(sums.correct_in_top5) / predictions;
  }
  __builtin_unreachable();
}

}  // namespace scavenger
