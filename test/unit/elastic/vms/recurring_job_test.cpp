#include "elastic/vms/recurring_job.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

std::filesystem::path runs_file(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() / "scavenger_recurring_job_test.csv";
  std::ofstream(file) << text;
  return file;
}

std::vector<VmType> one_type() {
  VmType type;
  type.features.name = "a";
  type.vcpus = 4.0;
  type.memory_gib = 16.0;
  return {type};
}

// Cheapest at `best` VMs, and dearer away from it.
double dollars(double vms, double best) {
  return std::exp(0.4 * std::abs(std::log2(vms / best)));
}

std::vector<WholeRun> of_others() {
  std::vector<WholeRun> runs;
  for (const double best : {2.0, 4.0, 8.0})
    for (const double vms : {1.0, 2.0, 4.0, 8.0, 16.0})
      runs.push_back({"other " + std::to_string(best), "a", vms, dollars(vms, best)});
  return runs;
}

TEST_CASE("A job that never ran begins where others are cheapest on average") {
  const NextRun found = next_run(of_others(), "mine", one_type());
  REQUIRE(found.next);
  CHECK(found.next->vms == 4.0);
  CHECK(!found.best);
  CHECK(next_run_text(found) == "run it on 4 x a, which was best on average for the other jobs\n");
}

TEST_CASE("Its own runs lead to the cheapest cluster, and then it stays there") {
  std::vector<WholeRun> runs = of_others();
  NextRun found = next_run(runs, "mine", one_type());
  for (int run = 0; run < 5 && found.is_worth_it(); ++run) {
    runs.push_back({"mine", "a", found.next->vms, 3.0 * dollars(found.next->vms, 8.0)});
    found = next_run(runs, "mine", one_type());
  }
  REQUIRE(found.best);
  CHECK(found.best->vms == 8.0);
  CHECK(!found.is_worth_it());
  CHECK(next_run_text(found).starts_with("stay with 8 x a ($3)"));
}

TEST_CASE("A table that is none, an unknown type and a job alone are refused") {
  const std::string header = "job,type,vms,dollars\n";
  CHECK(read_whole_runs(runs_file(header + "x,a,2,0.5\n\n")).size() == 1);
  CHECK(read_whole_runs(runs_file("\xEF\xBB\xBFjob,type,vms,dollars\r\nx,a,2,0.5\r\n")).size() ==
        1);
  for (const std::string& text : {std::string(), std::string("job,type\nx,a\n"), header + "x,a,2\n",
                                  header + "x,a,0,1\n", header + ",a,1,1\n", header + "x,a,1.5,1\n",
                                  header + "x,a,2,0.5,7\n", header + "x,a,2,nan\n"}) {
    INFO(text);
    CHECK_THROWS_AS(read_whole_runs(runs_file(text)), InputError);
  }
  CHECK_THROWS_AS(next_run({{"x", "b", 1.0, 1.0}}, "mine", one_type()), InputError);
  CHECK_THROWS_AS(next_run({{"mine", "a", 1.0, 1.0}}, "mine", one_type()), InputError);
}

}  // namespace
}  // namespace scavenger::elastic
