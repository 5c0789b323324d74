#include "elastic/history/evaluation_metric.h"

namespace scavenger::elastic {

std::optional<double> metric_of(const fact::Evaluation& evaluation, Metric metric) {
  if (metric == Metric::kLoss) return evaluation.loss;
  return evaluation.metrics[metric];
}

void set_metric(fact::Evaluation& evaluation, Metric metric, double value) {
  if (metric == Metric::kLoss)
    evaluation.loss = value;
  else
    evaluation.metrics[metric] = value;
}

Metric followed_metric(const fact::Start& start, const fact::Evaluation& evaluation) {
  if (start.target) return start.target->metric;
  return evaluation.metrics[Metric::kAccuracy] ? Metric::kAccuracy : Metric::kLoss;
}

const SplitNumbers* followed_split(const RunNumbers& numbers) {
  const fact::Start& start = numbers.start;
  if (const auto* split = numbers.find_split(start.target ? start.target->split : Split::kTest))
    return split;
  return numbers.splits.empty() ? nullptr : &numbers.splits.front();
}

bool is_better(Metric metric, std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a.has_value() && !b;
  return is_better_when_high(metric) ? *a > *b : *a < *b;
}

}  // namespace scavenger::elastic
