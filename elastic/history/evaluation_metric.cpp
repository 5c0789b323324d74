#include "elastic/history/evaluation_metric.h"

namespace scavenger::elastic {

std::optional<double> metric_of(const fact::Evaluation& evaluation, std::string_view metric) {
  if (metric == "loss") return evaluation.loss;
  if (metric == "accuracy") return evaluation.accuracy;
  if (metric == "perplexity") return evaluation.perplexity;
  if (metric == "bleu") return evaluation.bleu;
  if (metric == "mse") return evaluation.mse;
  if (metric == "top5_accuracy") return evaluation.top5_accuracy;
  return std::nullopt;
}

std::string followed_metric(const fact::Start& start, const fact::Evaluation& evaluation) {
  if (start.target) return start.target->metric;
  return evaluation.accuracy ? "accuracy" : "loss";
}

const SplitNumbers* followed_split(const RunNumbers& numbers) {
  const fact::Start& start = numbers.start;
  if (const auto* split = numbers.find_split(start.target ? start.target->split : "test"))
    return split;
  return numbers.splits.empty() ? nullptr : &numbers.splits.front();
}

bool is_better(std::string_view metric, std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a.has_value() && !b;
  const bool is_better_when_high =
      metric == "accuracy" || metric == "top5_accuracy" || metric == "bleu";
  return is_better_when_high ? *a > *b : *a < *b;
}

}  // namespace scavenger::elastic
