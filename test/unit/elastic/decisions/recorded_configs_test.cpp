#include "elastic/decisions/recorded_configs.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "elastic/decisions/decision_log.h"
#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/decisions/ready_config.h"

namespace scavenger::elastic {
namespace {

JobConfig config_with(double max_cost) {
  JobConfig config = ready_config();
  config.stop.max_cost = max_cost;
  return config;
}

// A run whose processes had these limits, in their order, and whose config.json has the last one.
class Run final {
 public:
  explicit Run(const std::vector<double>& limits) {
    for (const double limit : limits) {
      DecisionLog log(folder_.path());
      log.begin(text(limit), {}, 0.0);
    }
    write_file_atomically(folder_.path() / "config.json", text(limits.back()));
  }

  // The limits by which the events of processes are judged that have logged their start.
  std::vector<double> limits_of(const std::vector<double>& started) const {
    const ConfigOf config_of = RecordedConfigs(folder_.path()).in_order();
    std::vector<double> found;
    for (const double limit : started) {
      fact::Start start;
      start.config_digest = sha256_hex(text(limit));
      found.push_back(config_of(start).stop.max_cost);
    }
    return found;
  }

  std::filesystem::path decisions() const { return decision_file(folder_.path()); }
  bool any_costs_more_than_two() const {
    return RecordedConfigs(folder_.path()).any([](const JobConfig& config) {
      return config.stop.max_cost > 2.0;
    });
  }

 private:
  static std::string text(double limit) { return json_text(to_json(config_with(limit))); }

  TemporaryFolder folder_;
};

// As older versions wrote it.
void drop_digests(const std::filesystem::path& path) {
  std::string text;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto document = parse_json(line);
    document["begin"].erase("config_digest");
    text += json_text(document) + "\n";
  }
  write_file_atomically(path, text);
}

using Limits = std::vector<double>;

}  // namespace

TEST_CASE("Each process has its own configuration, whatever config.json says now") {
  const Run run({1.0, 3.0, 2.0});
  CHECK(run.limits_of({1.0, 3.0, 2.0}) == Limits{1.0, 3.0, 2.0});
  CHECK(run.any_costs_more_than_two());
  CHECK_FALSE(Run({1.0, 2.0}).any_costs_more_than_two());
}

TEST_CASE("A process that was killed before its first event is passed over") {
  CHECK(Run({1.0, 3.0, 2.0}).limits_of({1.0, 2.0}) == Limits{1.0, 2.0});
  CHECK(Run({1.0, 3.0, 1.0}).limits_of({1.0, 1.0}) == Limits{1.0, 1.0});
}

TEST_CASE("A line that a kill has cut off is no configuration") {
  const Run run({1.0, 2.0});
  std::ofstream(run.decisions(), std::ios::app) << R"({"begin":{"commit":"b4)";
  CHECK(run.limits_of({1.0, 2.0}) == Limits{1.0, 2.0});
}

TEST_CASE("Configurations without a digest belong to the processes in their order") {
  const Run run({1.0, 3.0, 2.0});
  drop_digests(run.decisions());
  CHECK(run.limits_of({1.0, 3.0, 2.0}) == Limits{1.0, 3.0, 2.0});
}

TEST_CASE("Without a record of decisions there is only config.json") {
  const Run run({1.0, 2.0});
  std::filesystem::remove(run.decisions());
  CHECK(run.limits_of({1.0, 2.0}) == Limits{2.0, 2.0});
}

}  // namespace scavenger::elastic
