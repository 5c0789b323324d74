#include "elastic/report/evaluation_metric.h"

namespace scavenger::elastic {

std::optional<double> metric_of(const fact::Evaluation& evaluation, std::string_view metric) {
  if (metric == "loss") return evaluation.loss;
  if (metric == "accuracy") return evaluation.accuracy;
  if (metric == "perplexity") return evaluation.perplexity;
  if (metric == "bleu") return evaluation.bleu;
  if (metric == "mse") return evaluation.mse;
  return std::nullopt;
}

std::string followed_metric(const fact::Start& start, const fact::Evaluation& evaluation) {
  if (start.target) return start.target->metric;
  return evaluation.accuracy ? "accuracy" : "loss";
}

bool is_better(std::string_view metric, std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a.has_value() && !b;
  return metric == "accuracy" || metric == "bleu" ? *a > *b : *a < *b;
}

}  // namespace scavenger::elastic
