#include "elastic/report/search_summary.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "elastic/history/run_summary.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

using fact::SearchPhase;

fact::SearchStep step(SearchPhase phase, std::uint32_t workers, const char* reason) {
  return {0, phase, workers, 100, reason};
}

fact::PredictedConfiguration predicted(std::uint32_t workers, double seconds) {
  fact::PredictedConfiguration one;
  one.workers = workers;
  one.batch_size = 100;
  one.seconds = seconds;
  one.seconds_low = seconds / 1.1;
  one.seconds_high = seconds * 1.1;
  one.cost = workers * seconds;
  return one;
}

// Two workers that look at four, and stay or go back.
RunSummary searching_job(bool stays) {
  RunSummary summary;
  summary.apply({0.0, sample_start()});
  summary.apply({0.0, sample_membership(1, {50, 50})});
  summary.apply({0.5, step(SearchPhase::kColdStart, 2, "stays as configured")});
  summary.apply({9.0, sample_iterations(1, 0, 20, 2)});
  summary.apply({9.0, step(SearchPhase::kProfiling, 4, "looks here")});
  summary.apply({10.0, sample_membership(2, {25, 25, 25, 25}, 20, 2000)});
  summary.apply({14.0, sample_iterations(2, 20, 10, 4)});
  fact::Prediction prediction;
  prediction.relative = true;
  prediction.workers = stays ? 4 : 2;
  prediction.batch_size = 100;
  prediction.candidates = {predicted(2, 80.0), predicted(4, stays ? 40.0 : 120.0)};
  summary.apply({14.0, prediction});
  summary.apply({14.0, step(SearchPhase::kSettled, stays ? 4 : 2, "was found")});
  if (!stays) summary.apply({14.0, sample_membership(3, {50, 50}, 30, 3000)});
  summary.apply({20.0, sample_iterations(stays ? 2 : 3, 30, 10, stays ? 4 : 2)});
  return summary;
}

}  // namespace

TEST_CASE("A job that does not search has no search to tell of") {
  RunSummary summary;
  summary.apply({0.0, sample_start()});
  summary.apply({0.0, sample_membership(1, {50, 50})});
  CHECK_FALSE(summarise_search(summary.numbers()));
  CHECK(search_summary_json(summary.numbers()).is_null());
}

TEST_CASE("Before the first look, none was likely to pay") {
  RunSummary summary;
  summary.apply({0.0, sample_start()});
  summary.apply({0.0, sample_membership(1, {50, 50})});
  summary.apply({0.5, step(SearchPhase::kColdStart, 2, "stays as configured")});
  const auto search = summarise_search(summary.numbers());
  REQUIRE(search);
  CHECK(search_sentence(*search) ==
        "trains at K 2  B 100, as configured; no look at another configuration was likely to pay");
}

TEST_CASE("Where the job has moved, the sentence has what that saves, with its interval") {
  const RunSummary job = searching_job(true);
  const auto search = summarise_search(job.numbers());
  REQUIRE(search);
  CHECK(search->looks == 1);
  REQUIRE(search->seconds_saved);
  CHECK(search->seconds_saved->value == Approx(0.5));
  const std::string sentence = search_sentence(*search);
  CHECK_THAT(sentence, Catch::StartsWith("trains at K 4  B 100 in place of K 2  B 100, as "
                                         "configured, for 50 % less time (43 to 56 % less)"));
  CHECK_THAT(sentence, Catch::Contains("looking elsewhere (once) has cost"));
  CHECK(search_summary_json(job.numbers())["now"]["workers"] == 4);
}

TEST_CASE("Where the job went back, looking has cost something and saved nothing") {
  const RunSummary job = searching_job(false);
  const auto search = summarise_search(job.numbers());
  REQUIRE(search);
  REQUIRE(search->spent_seconds);
  CHECK(*search->spent_seconds > 0.0);
  CHECK_FALSE(search->seconds_saved);
  CHECK(search->decided == "was found");
  CHECK_THAT(search_sentence(*search), Catch::StartsWith("trains at K 2  B 100, as configured; "
                                                         "looking elsewhere (once) has cost"));
}

}  // namespace scavenger::elastic
