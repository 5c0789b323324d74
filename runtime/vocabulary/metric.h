// What an evaluation of a model yields. Which of these a job has: runtime/config/metric.h.
#pragma once

#include <array>
#include <string_view>

#include "runtime/vocabulary/word.h"

namespace scavenger {

// The most telling first, as people are shown them.
enum class Metric { kBleu, kAccuracy, kTop5Accuracy, kPerplexity, kMse, kLoss };

enum class MetricScale {
  kShare,   // 0 to 1; people are shown per cent
  kPoints,  // 0 to 100
  kOpen     // 0 or more
};

struct MetricEntry {
  Metric word;
  std::string_view name;
  std::string_view title;  // for people
  bool is_better_when_high;
  MetricScale scale;
};

inline constexpr std::array<MetricEntry, 6> kMetrics{{
    {Metric::kBleu, "bleu", "BLEU", true, MetricScale::kPoints},
    {Metric::kAccuracy, "accuracy", "accuracy", true, MetricScale::kShare},
    {Metric::kTop5Accuracy, "top5_accuracy", "top-5 accuracy", true, MetricScale::kShare},
    {Metric::kPerplexity, "perplexity", "perplexity", false, MetricScale::kOpen},
    {Metric::kMse, "mse", "squared error", false, MetricScale::kOpen},
    {Metric::kLoss, "loss", "loss", false, MetricScale::kOpen},
}};
static_assert(is_complete(kMetrics, Metric::kLoss));

constexpr const auto& table_of(Metric) {
  return kMetrics;
}

constexpr bool is_better_when_high(Metric metric) {
  return entry_of(metric).is_better_when_high;
}

}  // namespace scavenger
