#include "elastic/page/page_data.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

nlohmann::json data_of(const RunHistory& history) {
  return nlohmann::json::parse(to_json_object(page_sections(history, "runs/a")));
}

void record(RunHistory& history, double time, RunEvent event) {
  history.apply({.time = time, .event = std::move(event)});
}

}  // namespace

TEST_CASE("A run of nothing but its start can be shown") {
  RunHistory history;
  record(history, 0.0, sample_start());

  const nlohmann::json data = data_of(history);
  CHECK(data.at("totals").at("status") == "running");
  CHECK(data.at("phases").empty());
  CHECK(data.at("loss").at("mean").empty());
  CHECK(data.at("prediction").is_null());
}

TEST_CASE("Every event has its place in the page's data") {
  RunHistory history;
  double time = 0.0;
  for (const RunEvent& event : one_of_each()) record(history, time += 1.0, event);

  const nlohmann::json data = data_of(history);
  CHECK(data.at("identity").at("folder") == "runs/a");
  CHECK_FALSE(data.at("loss").at("mean").empty());
  CHECK_FALSE(data.at("timers").at("sync").empty());
  CHECK_FALSE(data.at("metrics").empty());
  CHECK_FALSE(data.at("phases").empty());
  CHECK_FALSE(data.at("checkpoints").empty());
  CHECK_FALSE(data.at("recoveries").empty());
  CHECK_FALSE(data.at("processes").empty());
  CHECK_FALSE(data.at("machines").empty());
  CHECK_FALSE(data.at("search").empty());
  CHECK_FALSE(data.at("prediction").at("candidates").empty());
  CHECK_FALSE(data.at("noise").at("stable").empty());
  CHECK_FALSE(data.at("notes").empty());
}

TEST_CASE("The data say when the job was resumed, and where it went on") {
  RunHistory history;
  fact::Start again = sample_start();
  again.resumed_from_iteration = 40;
  record(history, 0.0, sample_start());
  CHECK(data_of(history).at("resumes").empty());
  record(history, 30.0, sample_start());  // before there was a checkpoint
  record(history, 70.0, again);

  const nlohmann::json resumes = data_of(history).at("resumes");
  REQUIRE(resumes.size() == 2);
  CHECK(resumes[0] == nlohmann::json({{"time", 30.0}, {"iteration", 0}}));
  CHECK(resumes[1] == nlohmann::json({{"time", 70.0}, {"iteration", 40}}));
}

TEST_CASE("Every start counts while only the latest are kept") {
  RunHistory history;
  constexpr int kStarts = 3 * static_cast<int>(LatestList<int>::kMaxListed);
  for (int i = 0; i < kStarts; ++i) record(history, i, sample_start());

  const nlohmann::json resumes = data_of(history).at("resumes");
  CHECK(resumes.size() == LatestList<int>::kMaxListed);
  CHECK(resumes.back().at("time") == kStarts - 1.0);
}

TEST_CASE("The data are the log's numbers, to six digits") {
  RunHistory history;
  fact::Iterations iterations = sample_iterations(1, 0, 2, 1);
  iterations.loss = {0.123456789, 2.5};
  iterations.seconds = {0.25, 0.75};
  record(history, 0.0, sample_start());
  record(history, 1.0, sample_membership(1, {64}));
  record(history, 3.0, iterations);

  const nlohmann::json data = data_of(history);
  CHECK(data.at("loss").at("mean") == nlohmann::json({0.123457, 2.5}));
  CHECK(data.at("loss").at("time") == nlohmann::json({2.25, 3.0}));
  CHECK(data.at("loss").at("iteration") == nlohmann::json({1, 2}));
  CHECK(data.at("timers").at("mean") == nlohmann::json({0.25, 0.75}));
  CHECK_FALSE(data.at("loss").contains("low"));  // each point is one value
}

TEST_CASE("Numbers of any size have the digits that their text has") {
  RunHistory history;
  fact::Iterations iterations = sample_iterations(1, 0, 10, 1);
  iterations.loss = {1e-300,    -3.14159265e-20, 9.9999951e-5, 0.1,       99999.97,
                     1234567.8, 6.02214076e23,   -8.8e300,     1.0 / 3.0, 2.5e22};
  record(history, 0.0, sample_start());
  record(history, 1.0, sample_membership(1, {64}));
  record(history, 3.0, iterations);

  std::vector<std::string> expected;
  for (const double value : iterations.loss)
    expected.push_back(nlohmann::json(std::stod(fmt::format("{:.6g}", value))).dump());
  std::vector<std::string> seen;
  const nlohmann::json shown = data_of(history).at("loss").at("mean");
  for (const auto& value : shown) seen.push_back(value.dump());
  CHECK(seen == expected);
}

TEST_CASE("Text that is not UTF-8 leaves the data readable") {
  RunHistory history;
  fact::Start start = sample_start();
  start.name = "a\xff\xfe";
  record(history, 0.0, start);

  CHECK(data_of(history).at("identity").at("name").get<std::string>().starts_with("a"));
}

}  // namespace scavenger::elastic
