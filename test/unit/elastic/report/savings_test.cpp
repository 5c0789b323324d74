#include "elastic/report/savings.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "elastic/history/run_summary.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

fact::PredictedConfiguration predicted(std::uint32_t workers, std::uint32_t batch_size,
                                       double seconds, double cost) {
  fact::PredictedConfiguration one;
  one.workers = workers;
  one.batch_size = batch_size;
  one.seconds = seconds;
  one.seconds_low = seconds / 1.1;
  one.seconds_high = seconds * 1.1;
  one.cost = cost;
  return one;
}

// It began with K = 2, B = 100, and 4, 200 is chosen, and moved to or not.
RunSummary searching_job(double price, bool moves = true) {
  fact::Start start = sample_start();
  start.price_per_worker_hour = price;
  fact::Prediction prediction;
  prediction.workers = 4;
  prediction.batch_size = 200;
  prediction.candidates = {predicted(1, 100, 90.0, 3.0),
                           predicted(1, 200, 100.0, 4.0),
                           predicted(2, 100, 80.0, 5.0),
                           predicted(2, 200, 60.0, 3.5),
                           predicted(4, 100, 70.0, 9.0),
                           predicted(4, 200, 40.0, 6.0),
                           predicted(8, 200, std::numeric_limits<double>::quiet_NaN(), 1.0)};
  RunSummary summary;
  summary.apply({0.0, start});
  summary.apply({0.0, sample_membership(1, {50, 50})});
  summary.apply({9.0, sample_iterations(1, 0, 20, 2)});
  summary.apply({10.0, prediction});
  if (moves) {
    summary.apply({10.0, sample_membership(2, {50, 50, 50, 50}, 20, 2000)});
    summary.apply({11.0, sample_iterations(2, 20, 10, 4)});
  }
  return summary;
}

}  // namespace

TEST_CASE("A job without prediction and spot machines has nothing to compare with") {
  RunSummary summary;
  summary.apply({0.0, sample_start()});

  CHECK_FALSE(savings_against_naive(summary.numbers()).has_value());
  CHECK_FALSE(savings_against_on_demand(summary.numbers()).has_value());
}

TEST_CASE("Naive are the configured, the slowest, the dearest, and the corners; each once") {
  const RunSummary summary = searching_job(3600.0);

  const auto saved = savings_against_naive(summary.numbers());
  REQUIRE(saved.has_value());
  std::vector<std::string> names;
  for (const NaiveConfiguration& one : saved->naive)
    names.push_back(std::string(one.why) + " " + std::to_string(one.predicted.workers) + "," +
                    std::to_string(one.predicted.batch_size));
  CHECK(names == std::vector<std::string>{"as configured 2,100", "the slowest 1,200",
                                          "the dearest 4,100",
                                          "fewest workers, smallest batch 1,100"});
  CHECK_FALSE(saved->is_measured);
  CHECK(saved->seconds == 40.0);
  CHECK(saved->cost == 6.0);
}

TEST_CASE("Where the target is reached, the run itself is compared, with its price or its hours") {
  for (const double price : {3600.0, 0.0}) {
    RunSummary summary = searching_job(price);
    summary.apply({20.0, fact::TargetReached{}});

    const auto saved = savings_against_naive(summary.numbers());
    REQUIRE(saved.has_value());
    CHECK(saved->is_measured);
    CHECK(saved->seconds == 20.0);
    // Two workers for ten seconds, then four.
    CHECK(saved->cost == Approx(price > 0.0 ? 60.0 : 60.0 / 3600.0));
    // The slowest is predicted to take 90.9 to 110 seconds.
    CHECK(saved->naive.at(1).seconds_saved.value == Approx(0.8));
    CHECK(saved->naive.at(1).seconds_saved.low == Approx(1.0 - 20.0 * 1.1 / 100.0));
    CHECK(saved->naive.at(1).seconds_saved.high == Approx(1.0 - 20.0 / 110.0));
  }
}

TEST_CASE("Nothing is saved by a configuration that was chosen and not used") {
  const RunSummary summary = searching_job(3600.0, false);

  const auto saved = savings_against_naive(summary.numbers());
  REQUIRE(saved.has_value());
  CHECK(saved->used.workers == 2);
  CHECK(saved->used.batch_size == 100);
  CHECK(saved->seconds == 80.0);
  CHECK(saved->naive.front().why == "the slowest");
  CHECK(saved->naive.front().seconds_saved.value == Approx(0.2));
}

TEST_CASE("Savings between two predictions have the errors of both") {
  const auto saved = savings_against_naive(searching_job(3600.0).numbers());
  REQUIRE(saved.has_value());
  const double reach = std::exp(std::sqrt(2.0) * std::log(1.1));
  const NaiveConfiguration& slowest = saved->naive.at(1);  // 40 against 100 seconds, 6 dollars to 4
  CHECK(slowest.seconds_saved.value == Approx(0.6));
  CHECK(slowest.seconds_saved.low == Approx(1.0 - 0.4 * reach));
  CHECK(slowest.seconds_saved.high == Approx(1.0 - 0.4 / reach));
  CHECK(slowest.cost_saved.value == Approx(-0.5));
  CHECK(slowest.cost_saved.low == Approx(1.0 - 1.5 * reach));
}

TEST_CASE("A part saved is negative where it was more") {
  CHECK(part_saved(3.0, 4.0) == Approx(0.25));
  CHECK(part_saved(5.0, 4.0) == Approx(-0.25));
  CHECK(part_saved(5.0, 0.0) == 0.0);
}

}  // namespace scavenger::elastic
