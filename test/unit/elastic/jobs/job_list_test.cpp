#include "elastic/jobs/job_list.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

namespace scavenger::elastic {
namespace {

using Json = nlohmann::json;

Json report(const std::string& status) {
  return {
      {"status", status},
      {"name", "digits"},
      {"totals", {{"cost", 1.5}}},
      {"environment", {{"utc", "2026-11-23T08:00:00Z"}, {"target", nullptr}}},
      {"splits", {{{"split", "test"}, {"last", {{"accuracy", 0.91}, {"loss", 0.3}}}}}},
      {"phases", {{{"workers", 2}, {"batch_size", 64}}, {{"workers", 4}, {"batch_size", 128}}}}};
}

// Runs that have ended, in a place where no job runs.
class Runs {
 public:
  Runs() { ::setenv("XDG_STATE_HOME", (folder_.path() / "state").c_str(), 1); }

  std::filesystem::path path() const { return folder_.path() / "runs"; }
  void add(const std::string& name, const std::string& report_text) const {
    const auto run = path() / name;
    std::filesystem::create_directories(run);
    write_file_atomically(run / "config.json", "{}");
    write_file_atomically(run / "events.jsonl", "");
    if (!report_text.empty()) write_file_atomically(run / "report.json", report_text);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("Jobs that have ended are as their reports say, in the order of their names") {
  const Runs runs;
  runs.add("b", report("target_reached").dump());
  runs.add("a", report("running").dump());
  runs.add("c", "");
  runs.add("d", "{");
  std::filesystem::create_directories(runs.path() / "no run");
  const Json jobs = list_jobs(runs.path());
  REQUIRE(jobs.size() == 4);
  CHECK(jobs[0].at("state") == "killed");  // its report has no end, and nobody works on it
  const Json& ended = jobs[1];
  CHECK(ended.at("state") == "target_reached");
  CHECK(ended.at("name") == "digits");
  CHECK(ended.at("workers") == 4);
  CHECK(ended.at("batch_size") == 128);
  CHECK(ended.at("cost_dollars") == 1.5);
  CHECK(ended.at("pid").is_null());
  CHECK(ended.at("evaluation") == Json{{"metric", "accuracy"}, {"split", "test"}, {"value", 0.91}});
  CHECK(jobs[2].at("state") == "no report");
  CHECK(jobs[3].at("state") == "unreadable report");
  CHECK(list_jobs("").empty());
}

TEST_CASE("The evaluation of a job with a target is of the target's metric") {
  const Runs runs;
  Json wanted = report("max_epochs");
  wanted["environment"]["target"] = {{"split", "test"}, {"metric", "loss"}};
  runs.add("a", wanted.dump());
  CHECK(list_jobs(runs.path())[0].at("evaluation").at("value") == 0.3);
}

TEST_CASE("The table has a line for each job, and a dash for what is not known") {
  const Runs runs;
  CHECK(job_table(list_jobs("")) == "no jobs\n");
  runs.add("a", report("target_reached").dump());
  runs.add("b", "");
  const std::string table = job_table(list_jobs(runs.path()));
  CHECK(std::ranges::count(table, '\n') == 3);
  CHECK_THAT(table, Catch::StartsWith("STATE") && Catch::Contains("target reached  digits  4"));
  CHECK_THAT(table, Catch::Contains("no report       b       -  -"));
}

TEST_CASE("A folder of runs that cannot be read is named") {
  CHECK_THROWS_WITH(list_jobs("/nowhere/runs"), Catch::Contains("/nowhere/runs"));
}

}  // namespace scavenger::elastic
