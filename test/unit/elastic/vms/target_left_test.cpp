#include "elastic/vms/race/target_left.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>

#include "runtime/base/random.h"
#include "test/unit/elastic/history/evaluated_job.h"

namespace scavenger::elastic {
namespace {

// After so many epochs, with a metric that follows a curve.
RunSummary trained(int epochs, Metric metric, double goal,
                   const std::function<double(double)>& curve, double scatter = 0.0) {
  RandomStream random(3, "curve", {});
  return evaluated_job(epochs, metric, goal, [&](int epoch, fact::Evaluation& evaluation) {
    const double value = curve(epoch) + scatter * random.normal();
    if (metric == Metric::kLoss)
      evaluation.loss = value;
    else
      evaluation.metrics[metric] = value;
  });
}

// Whether the truth lies within 1.645 standard deviations: what 90 % means.
bool covers(const EpochsLeft& left, double truth) {
  return std::abs(std::log(truth / left.epochs)) < 1.645 * left.log_spread;
}

TEST_CASE("The curve of the evaluations tells how far the target is") {
  struct Case {
    Metric metric;
    double goal;
    double epoch;  // at which the curve reaches it
    std::function<double(double)> curve;
  };
  const Case cases[] = {
      {Metric::kAccuracy, 0.9, 25.0, [](double n) { return 1.0 - 0.5 / std::sqrt(n); }},
      {Metric::kAccuracy, 0.8, std::exp(3.0), [](double n) { return 0.5 + 0.1 * std::log(n); }},
      {Metric::kBleu, 30.0, 27.0, [](double n) { return 100.0 - 210.0 / std::cbrt(n); }},
      {Metric::kLoss, 0.25, 16.0, [](double n) { return 1.0 / std::sqrt(n); }}};
  for (const Case& one : cases) {
    double before = 1e9;
    for (const int epochs : {8, 12, 15}) {
      CAPTURE(name_of(one.metric), epochs);
      const auto left =
          epochs_to_target(trained(epochs, one.metric, one.goal, one.curve, 0.0005).numbers(), {});
      REQUIRE(left);
      CAPTURE(left->epochs, left->log_spread);
      CHECK(covers(*left, one.epoch - epochs));
      CHECK(left->epochs < before);
      before = left->epochs;
    }
  }
}

TEST_CASE("Nothing tells of the target before there is a curve that leads to it") {
  const auto rising = [](double n) { return 1.0 - 0.5 / std::sqrt(n); };
  CHECK(!epochs_to_target(trained(3, Metric::kAccuracy, 0.9, rising).numbers(), {}));
  const auto falling = [](double n) { return 0.5 / n; };
  CHECK(!epochs_to_target(trained(10, Metric::kAccuracy, 0.9, falling).numbers(), {}));
  const auto flat = [](double n) { return 0.5 + 1e-5 * n; };
  CHECK(!epochs_to_target(trained(10, Metric::kAccuracy, 0.9, flat).numbers(), {}));
  RunSummary nowhere;
  nowhere.apply({0.0, sample_start()});
  CHECK(!epochs_to_target(nowhere.numbers(), {}));
}

perfmodel::EpochRow earlier(double epochs, double batch, const std::string& target) {
  return {"job" + std::to_string(epochs), target, 2.0, batch, epochs, 0.0};
}

TEST_CASE("Earlier jobs tell it from the beginning, those with the same batch best") {
  const auto rising = [](double n) { return 1.0 - 0.5 / std::sqrt(n); };
  const std::string target = "test accuracy 0.9";
  const RunSummary job = trained(2, Metric::kAccuracy, 0.9, rising);
  const perfmodel::EpochRow other[] = {earlier(20.0, 50.0, "test accuracy 0.8")};
  CHECK(!epochs_to_target(job.numbers(), other));
  const perfmodel::EpochRow one[] = {earlier(20.0, 50.0, target), earlier(90.0, 500.0, target)};
  const auto same = epochs_to_target(job.numbers(), one);
  REQUIRE(same);
  CHECK(same->epochs == Approx(18.0));
  CHECK(same->log_spread < 0.25);
  const perfmodel::EpochRow far[] = {earlier(20.0, 200.0, target)};
  const auto another = epochs_to_target(job.numbers(), far);
  REQUIRE(another);
  CHECK(another->log_spread > 2.0 * same->log_spread);
  // A job that has taken longer than the earlier ones is not done.
  const perfmodel::EpochRow quick[] = {earlier(1.0, 50.0, target)};
  CHECK(epochs_to_target(job.numbers(), quick)->epochs > 0.05);
}

}  // namespace
}  // namespace scavenger::elastic
