#include "elastic/history/time_to_go.h"

#include <catch2/catch.hpp>

#include "elastic/history/run_summary.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

// Epochs of 1,000 samples. 10 epochs with B = 100, 20 with B = 200.
fact::Prediction prediction_of_two() {
  fact::PredictedConfiguration small, large;
  small.workers = 1;
  small.batch_size = 100;
  small.epochs = 10.0;
  small.seconds = 100.0;
  small.seconds_low = 90.0;
  small.seconds_high = 110.0;
  small.cost = 1.0;
  large = small;
  large.workers = 2;
  large.batch_size = 200;
  large.epochs = 20.0;
  large.seconds = 80.0;
  fact::Prediction prediction;
  prediction.workers = 2;
  prediction.batch_size = 200;
  prediction.candidates = {small, large};
  return prediction;
}

// Half of the way with B = 100, and a quarter with B = 200.
RunSummary three_quarters_done() {
  RunSummary summary;
  summary.apply({0.0, sample_start()});
  summary.apply({0.0, sample_membership(1, {100})});
  summary.apply({50.0, sample_iterations(1, 0, 50, 1)});
  summary.apply({50.0, prediction_of_two()});
  summary.apply({50.0, sample_membership(2, {100, 100}, 50, 5000)});
  summary.apply({75.0, sample_iterations(2, 50, 25, 2)});
  return summary;
}

}  // namespace

TEST_CASE("Each batch size's samples are the part of a whole job that they are with that batch") {
  const RunSummary summary = three_quarters_done();

  CHECK(progress_to_target(summary.numbers(), prediction_of_two()) == Approx(0.75));
}

TEST_CASE("What was lost and is done again is no progress") {
  RunSummary summary = three_quarters_done();
  summary.apply({80.0, sample_membership(3, {100}, 40, 4000)});

  CHECK(progress_to_target(summary.numbers(), prediction_of_two()) == Approx(0.4));
}

TEST_CASE("What is left is of the configuration that the prediction led to") {
  RunSummary summary = three_quarters_done();
  const auto chosen = predicted_to_go(summary.numbers());
  REQUIRE(chosen.has_value());
  CHECK(chosen->seconds == Approx(20.0));

  summary.apply({76.0, fact::SearchStep{.phase = fact::SearchPhase::kSettled,
                                        .workers = 1,
                                        .batch_size = 100,
                                        .reason = "stays"}});
  const auto stayed = predicted_to_go(summary.numbers());
  REQUIRE(stayed.has_value());
  CHECK(stayed->seconds == Approx(25.0));
  CHECK(stayed->seconds_low == Approx(22.5));
  CHECK(stayed->seconds_high == Approx(27.5));
  CHECK(stayed->cost == Approx(0.25));
}

TEST_CASE("Nobody knows how long a job takes by a relative prediction: as long again") {
  RunSummary summary = three_quarters_done();
  fact::Prediction relative = prediction_of_two();
  relative.relative = true;
  CHECK(seconds_to_target(summary.numbers(), relative, relative.candidates[0]) == Approx(75.0));
  summary.apply({76.0, relative});

  CHECK_FALSE(predicted_to_go(summary.numbers()).has_value());
}

}  // namespace scavenger::elastic
