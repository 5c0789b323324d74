#include "runtime/metrics/metric_value.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace scavenger {
namespace {

TEST_CASE("Metrics are means over predictions, not over samples") {
  EvaluationSums sums{.samples = 2,
                      .predictions = 8,
                      .correct = 6,
                      .correct_in_top5 = 7,
                      .loss = 4.0,
                      .negative_log_likelihood = 8.0 * std::log(3.0),
                      .squared_error = 2.0,
                      .bleu = {}};

  CHECK(metric_value(Metric::kAccuracy, sums) == 0.75);
  CHECK(metric_value(Metric::kTop5Accuracy, sums) == 0.875);
  CHECK(metric_value(Metric::kLoss, sums) == 0.5);
  CHECK(metric_value(Metric::kPerplexity, sums) == Approx(3.0));
  CHECK(metric_value(Metric::kMse, sums) == 0.25);
  CHECK(metric_value(Metric::kBleu, sums) == 0.0);
}

TEST_CASE("Sums of parts are the sums of the whole") {
  const EvaluationSums part{.samples = 1,
                            .predictions = 3,
                            .correct = 2,
                            .correct_in_top5 = 3,
                            .loss = 0.5,
                            .negative_log_likelihood = 0.25,
                            .squared_error = 8.0,
                            .bleu = {4, 5, {3, 2, 1, 0}, {4, 3, 2, 1}}};
  EvaluationSums sums = part;

  sums += part;

  CHECK(sums == EvaluationSums{.samples = 2,
                               .predictions = 6,
                               .correct = 4,
                               .correct_in_top5 = 6,
                               .loss = 1.0,
                               .negative_log_likelihood = 0.5,
                               .squared_error = 16.0,
                               .bleu = {8, 10, {6, 4, 2, 0}, {8, 6, 4, 2}}});
}

}  // namespace
}  // namespace scavenger
