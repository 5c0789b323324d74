#include "elastic/events/event.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/error.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

LoggedEvent read(const std::string& line) {
  return from_json_line(line, "events.jsonl:17");
}

std::string line_of(RunEvent event) {
  return to_json_line({.time = 1.5, .event = std::move(event)});
}

}  // namespace

TEST_CASE("Every kind of event survives being written and read") {
  std::set<std::size_t> kinds;
  for (const RunEvent& event : one_of_each()) {
    const LoggedEvent logged{.time = 12.000001, .event = event};

    const std::string line = to_json_line(logged);

    INFO(line);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(read(line) == logged);
    kinds.insert(event.index());
  }
  CHECK(kinds.size() == std::variant_size_v<RunEvent>);
}

TEST_CASE("A line begins with its time and its name, for those who read logs by eye") {
  CHECK(line_of(fact::Warning{.text = "disk \"C\""}) ==
        R"({"time":1.5,"event":"warning","text":"disk \"C\""})");
}

TEST_CASE("Measured series are written with five significant digits") {
  fact::Iterations iterations = sample_iterations(1, 0, 1, 1);
  iterations.loss = {0.123456789};

  const LoggedEvent logged = read(line_of(iterations));

  CHECK(std::get<fact::Iterations>(logged.event).loss[0] == 0.12346);
}

TEST_CASE("A field that may be null is not in the logs of before it was thought of") {
  std::string line = line_of(sample_evaluation(1, 0.5, 0.25, 0.875));
  const std::string field = R"(,"top5_accuracy":null)";
  const std::size_t place = line.find(field);
  REQUIRE(place != std::string::npos);
  line.erase(place, field.size());
  CHECK(std::get<fact::Evaluation>(read(line).event) == sample_evaluation(1, 0.5, 0.25, 0.875));
}

TEST_CASE("Single numbers are written with all their digits") {
  fact::Evaluation evaluation = sample_evaluation(1, 1.0 / 3.0, 0.1 + 0.2, 0.9);

  CHECK(std::get<fact::Evaluation>(read(line_of(evaluation)).event) == evaluation);
}

TEST_CASE("A number that is not finite is null in the log and NaN again when read") {
  fact::Iterations iterations = sample_iterations(1, 0, 2, 1);
  iterations.loss = {std::numeric_limits<double>::infinity(), 1.0};

  const std::string line = line_of(iterations);

  CHECK_THAT(line, Catch::Contains("\"loss\":[null,1]"));
  CHECK(std::isnan(std::get<fact::Iterations>(read(line).event).loss[0]));
}

TEST_CASE("Text that is not UTF-8 is written readable instead of failing") {
  const std::string line = line_of(fact::Warning{.text = "bad \xff byte"});

  CHECK(std::get<fact::Warning>(read(line).event).text == "bad \xef\xbf\xbd byte");
}

TEST_CASE("Reading is strict and names the line and the field") {
  using Catch::Contains;
  const auto refused = [](const std::string& line, const std::string& why) {
    INFO(line);
    CHECK_THROWS_AS(read(line), InputError);
    CHECK_THROWS_WITH(read(line), Contains("events.jsonl:17") && Contains(why));
  };

  refused("", "not a JSON object");
  refused("[1]", "not a JSON object");
  refused(R"({"time":1,"event":"warning","text":"x")", "not a JSON object");
  refused(R"({"event":"warning","text":"x"})", "'time'");
  refused(R"({"time":1,"text":"x"})", "'event'");
  refused(R"({"time":1,"event":"warnings","text":"x"})", "no event 'warnings'");
  refused(R"({"time":1,"event":"warning"})", "no field 'text'");
  refused(R"({"time":1,"event":"warning","text":3})", "'text' must be text");
  refused(R"({"time":1,"event":"warning","text":"x","txt":"y"})", "unknown field 'txt'");
  refused(R"({"time":1,"event":"checkpoint_failed","iteration":-1,"reason":""})",
          "'iteration' must be a whole number");
  refused(R"({"time":1,"event":"checkpoint_failed","iteration":1.5,"reason":""})",
          "'iteration' must be a whole number");
  refused(R"({"time":1,"event":"process_started","role":"boss","index":0,"pid":1,"log":""})",
          "'role' must be worker or shard");
  refused(
      R"({"time":1,"event":"process_started","role":"shard","index":4294967296,"pid":1,"log":""})",
      "'index' must be a whole number in range");
}

TEST_CASE("An unknown field inside a nested object is refused too") {
  auto object = nlohmann::json::parse(line_of(sample_start()));
  object["host"]["time"] = 3;

  CHECK_THROWS_WITH(read(object.dump()), Catch::Contains("host has an unknown field 'time'"));
}

TEST_CASE("Series of different lengths are refused") {
  auto object = nlohmann::json::parse(line_of(sample_iterations(1, 0, 3, 2)));
  auto short_series = object;
  short_series["loss"].erase(0);
  auto short_worker = object;
  short_worker["workers"][1]["forward"].erase(0);

  CHECK_THROWS_WITH(read(short_series.dump()), Catch::Contains("count entries"));
  CHECK_THROWS_WITH(read(short_worker.dump()), Catch::Contains("count entries"));
}

TEST_CASE("Shares that do not make up the batch are refused") {
  auto object = nlohmann::json::parse(line_of(sample_membership(1, {3, 5})));
  object["batch_size"] = 9;

  CHECK_THROWS_WITH(read(object.dump()), Catch::Contains("sum to batch_size"));
}

TEST_CASE("A log of a newer schema is refused with the way out, whatever its fields are") {
  CHECK_THROWS_WITH(read(R"({"time":0,"event":"start","schema_version":99,"novel":[]})"),
                    Catch::Contains("schema version 99") && Catch::Contains("newer"));
}

}  // namespace scavenger::elastic
