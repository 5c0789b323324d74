#include "elastic/report/json_report.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "elastic/history/run_summary.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/events/sample_events.h"
#include "test/unit/elastic/report/schema_check.h"

namespace scavenger::elastic {
namespace {

using nlohmann::json;

// Something in every part of the report: two processes, three phases, each kind of problem.
RunSummary eventful_run() {
  std::vector<RunEvent> events = {sample_start(),
                                  sample_membership(1, {50, 50}),
                                  sample_iterations(1, 0, 50, 2),
                                  sample_evaluation(50, 5.0, 0.25, 0.8),
                                  sample_membership(2, {25, 25, 25, 25}, 50, 5000),
                                  sample_iterations(2, 50, 10, 4)};
  for (const RunEvent& event : one_of_each())
    if (!std::holds_alternative<fact::Membership>(event) &&
        !std::holds_alternative<fact::Iterations>(event) &&
        !std::holds_alternative<fact::IterationBlock>(event))
      events.push_back(event);
  events.insert(events.end() - 1,
                {sample_membership(3, {10}, 40, 4000), sample_iterations(3, 40, 4, 1)});
  RunSummary summary;
  double time = 0.0;
  for (const RunEvent& event : events) summary.apply({.time = time++, .event = event});
  return summary;
}

json report_of(const RunSummary& summary) {
  return json::parse(to_json_report(summary.numbers()));
}

SchemaCheck report_schema() {
  return SchemaCheck(json::parse(read_file(REPORT_SCHEMA_PATH)));
}

}  // namespace

TEST_CASE("A report of an eventful run fits the published schema") {
  CHECK(report_schema().faults(report_of(eventful_run())) == std::vector<std::string>{});
}

TEST_CASE("A report names the precision of products") {
  CHECK(report_of(eventful_run())["environment"]["precision"] == "tf32");
}

TEST_CASE("A report of a run that has not begun fits the published schema") {
  CHECK(report_schema().faults(report_of(RunSummary())) == std::vector<std::string>{});
}

TEST_CASE(
    "The schema notices what does not belong in a report, what is missing, and what is wrong") {
  const SchemaCheck schema = report_schema();
  const json report = report_of(eventful_run());
  json extra = report;
  extra["phases"][0]["novel"] = 1;
  json missing = report;
  missing["totals"].erase("cost");
  json wrong = report;
  wrong["phases"][1]["by_worker"][0]["compute_seconds"]["mean"] = "fast";
  json negative = report;
  negative["totals"]["iterations"] = -1;
  json status = report;
  status["status"] = "great";

  CHECK(schema.faults(extra) == std::vector<std::string>{"/phases/0: additionalProperties"});
  CHECK(schema.faults(missing) == std::vector<std::string>{"/totals: required"});
  CHECK(schema.faults(wrong) ==
        std::vector<std::string>{"/phases/1/by_worker/0/compute_seconds/mean: type"});
  CHECK(schema.faults(negative) == std::vector<std::string>{"/totals/iterations: minimum"});
  CHECK(schema.faults(status) == std::vector<std::string>{"/status: enum"});
}

TEST_CASE("The report holds the summary's numbers") {
  RunSummary summary;
  summary.apply({.time = 0.0, .event = sample_start()});
  summary.apply({.time = 1.0, .event = sample_membership(1, {50, 50})});
  summary.apply({.time = 6.0, .event = sample_iterations(1, 0, 50, 2)});
  summary.apply({.time = 7.0, .event = sample_end(50, 5000)});

  const json report = report_of(summary);

  CHECK(report["status"] == "max_epochs");
  CHECK(report["exit_code"] == 0);
  CHECK(report["environment"]["host"]["cores"] == 2);
  CHECK(report["totals"]["epochs"] == 5.0);
  CHECK(report["totals"]["cost"].get<double>() == Approx(6.0 * 2 * 0.001));
  CHECK(report["phases"][0]["iteration_seconds"]["mean"].get<double>() == Approx(0.1));
  CHECK(report["phases"][0]["iteration_seconds"]["p50"].get<double>() ==
        Approx(0.1).epsilon(0.005));
  CHECK(report["phases"][0]["samples_per_second"].get<double>() == Approx(1000.0));
  CHECK(report["phases"][0]["by_worker"][1]["compute_seconds"]["mean"].get<double>() ==
        Approx(0.02));
  CHECK(report["training_loss"]["mean"].size() == 50);
  CHECK(report["resizes"].empty());
}

TEST_CASE("Each change of K or B is a resize; a membership of the same size is not") {
  RunSummary summary;
  summary.apply({.time = 0.0, .event = sample_start()});
  summary.apply({.time = 1.0, .event = sample_membership(1, {50, 50})});
  summary.apply({.time = 2.0, .event = sample_membership(2, {60, 40}, 10, 1000)});
  summary.apply({.time = 3.0, .event = sample_membership(3, {100, 100}, 20, 2000)});

  const json resizes = report_of(summary)["resizes"];

  REQUIRE(resizes.size() == 1);
  CHECK(resizes[0]["time"] == 3.0);
  CHECK(resizes[0]["iteration"] == 20);
  CHECK(resizes[0]["workers"] == 2);
  CHECK(resizes[0]["batch_size_before"] == 100);
  CHECK(resizes[0]["batch_size"] == 200);
}

TEST_CASE("A number that is not finite is null in the report") {
  RunSummary summary;
  fact::Iterations iterations = sample_iterations(1, 0, 2, 1);
  iterations.loss = {0.5, std::numeric_limits<double>::quiet_NaN()};
  summary.apply({.time = 0.0, .event = sample_start()});
  summary.apply({.time = 1.0, .event = sample_membership(1, {8})});
  summary.apply({.time = 2.0, .event = iterations});

  CHECK(report_of(summary)["training_loss"]["mean"] == json::parse("[0.5, null]"));
}

TEST_CASE("A run without an end is said to be running, without an exit code") {
  RunSummary summary;
  summary.apply({.time = 0.0, .event = sample_start()});

  CHECK(report_of(summary)["status"] == "running");
  CHECK(report_of(summary)["exit_code"].is_null());
}

TEST_CASE("A report is written whole") {
  const TemporaryFolder folder;
  const RunSummary summary = eventful_run();

  write_json_report(folder.path() / "report.json", summary.numbers());

  CHECK(read_file(folder.path() / "report.json") == to_json_report(summary.numbers()));
}

}  // namespace scavenger::elastic
