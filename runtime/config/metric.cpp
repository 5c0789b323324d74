#include "runtime/config/metric.h"

namespace scavenger {
namespace {

bool has_values_for_targets(const DataConfig& data) {
  return data.classes == 0 && !is_text(data.train.format);
}

}  // namespace

LossType loss_type(const JobConfig& config) {
  if (config.loss.type != LossType::kAutomatic) return config.loss.type;
  return has_values_for_targets(config.data) ? LossType::kMse : LossType::kCrossEntropy;
}

std::vector<Metric> metrics_of(const JobConfig& config) {
  if (config.data.train.format == DataFormat::kParallelText)
    return {Metric::kBleu, Metric::kLoss, Metric::kPerplexity, Metric::kAccuracy};
  if (config.data.train.format == DataFormat::kText)
    return {Metric::kLoss, Metric::kPerplexity, Metric::kAccuracy};
  if (config.data.train.format == DataFormat::kPython && config.data.classes == 0)
    return {Metric::kLoss};  // only evaluate() knows what the targets are
  if (config.data.classes > kTopClasses)
    return {Metric::kAccuracy, Metric::kTop5Accuracy, Metric::kLoss};
  if (!has_values_for_targets(config.data)) return {Metric::kAccuracy, Metric::kLoss};
  if (loss_type(config) == LossType::kBce) return {Metric::kAccuracy, Metric::kLoss, Metric::kMse};
  return {Metric::kLoss, Metric::kMse};
}

Metric judged_metric(const StopConfig& stop) {
  if (stop.target) return stop.target->metric;
  return stop.early_stopping ? stop.early_stopping->metric : Metric::kLoss;
}

}  // namespace scavenger
