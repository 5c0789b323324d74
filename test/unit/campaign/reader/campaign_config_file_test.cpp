#include "campaign/reader/campaign_config_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

// A configuration with every key, none of them as by default.
constexpr const char* kFull = R"({
  "name": "full", "seed": 9,
  "space": {"Z": {"range": [4, 5], "step": 0.5}, "c": {"values": [0.1, 1]}},
  "simulation": {
    "command": ["engine", "{Z}", "{c}", "{from}", "{until}"],
    "files": ["input"], "templates": ["input/in.txt"],
    "cores": 2, "steps": 1000, "step_multiple": 20,
    "checkpoint": {"files": ["state*"], "mode": "segments", "interval_seconds": 7.5, "mean_life_hours": 2},
    "stop": {"file": "stop", "grace_seconds": 3, "reached": {"file": "r.json", "key": "steps"}},
    "result": {"files": ["r.json", "p.csv"], "merge": "mean_by_steps",
               "profile": {"file": "p.csv", "x": "z", "y": ["p"], "errors": ["e"]}},
    "valid": {"finite": false, "ranges": {"temperature": [0.9, 1.1]}},
    "limit_hours": 3, "tries": 2
  },
  "selection": {"holdout": 2, "rule": "random"},
  "surrogate": {"target_rmse": 0.1, "target_within_errors": 0.9, "first_results": 4, "retrain_results": 3, "most_doublings": 2,
                "members": 3, "hidden": [8], "iterations": 100, "learning_rate": 0.02},
  "stop": {"max_simulations": 5, "max_cost": 1.5},
  "machines": {"count": 3, "price_per_hour": 0.2, "listen_address": "127.0.0.2", "port": 7000,
               "start_seconds": 9, "silence_seconds": 8},
  "provider": {"type": "emulated", "spot": true, "machines": [{"type": "small"}],
               "preemption": {"mean_life_seconds": 20}}
})";

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("campaign_config_" + std::to_string(::getpid()))) {
    fs::create_directories(path_ / "input");
    std::ofstream(path_ / "input" / "in.txt") << "{{Z}}";
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path write(const std::string& text) const {
    std::ofstream(path_ / "campaign.json") << text;
    return path_ / "campaign.json";
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// What is said of the full configuration with `part` replaced by `other`.
std::string complaint(const std::string& part, const std::string& other) {
  const Folder folder;
  std::string text = kFull;
  const std::size_t place = text.find(part);
  REQUIRE(place != std::string::npos);
  text.replace(place, part.size(), other);
  try {
    load_campaign_config(folder.write(text));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

TEST_CASE("A configuration survives being written and read again", "[campaign_config]") {
  const Folder folder;
  const CampaignConfig config = load_campaign_config(folder.write(kFull));
  CHECK(config.seed == 9);
  CHECK(config.space.size() == 2);
  CHECK(config.simulation.files.front() == folder.path() / "input");
  CHECK(config.simulation.checkpoint.interval_seconds == 7.5);
  CHECK(config.provider.type == ProviderType::kEmulated);
  CHECK(config.provider.spot);
  const std::string text = json_text(to_json(config), {.indent = 1});
  CHECK(parse_campaign_config(text, "again") == config);
}

TEST_CASE("Defaults are those of the schema", "[campaign_config]") {
  const CampaignConfig config = parse_campaign_config(
      R"({"name": "a", "space": {"c": {"values": [1]}},
          "simulation": {"command": ["x", "{steps}"], "steps": 10, "checkpoint": {"files": ["s"]},
                         "result": {"files": ["r"]}}})",
      "text");
  CampaignConfig expected;
  expected.name = "a";
  expected.space = {{"c", {{1.0}, {}, 0.0}}};
  expected.simulation.command = {"x", "{steps}"};
  expected.simulation.steps = 10;
  expected.simulation.checkpoint.files = {"s"};
  expected.simulation.result.files = {"r"};
  CHECK(config == expected);
  CHECK(parse_campaign_config(json_text(to_json(config)), "again") == config);
}

TEST_CASE("An override replaces a value", "[campaign_config]") {
  const Folder folder;
  const std::vector<std::string> overrides = {"machines.count=9", "space.c.values=[3, 4]"};
  const CampaignConfig config = load_campaign_config(folder.write(kFull), overrides);
  CHECK(config.machines.count == 9);
  CHECK(config.space[1].second.values == std::vector<double>{3.0, 4.0});
}

TEST_CASE("Each fault is one error with its place", "[campaign_config]") {
  using Catch::Contains;
  CHECK_THAT(complaint("\"seed\"", "\"sed\""), Contains("did you mean \"seed\"?"));
  CHECK_THAT(complaint("\"steps\": 1000", "\"steps\": 0"), Contains(":7: simulation.steps"));
  CHECK_THAT(complaint("{Z}", "{Y}"), Contains("there is no {Y}"));
  CHECK_THAT(complaint(", \"{until}\"", ""), Contains("how far a segment goes"));
  CHECK_THAT(complaint("\"step\": 0.5", "\"step\": -1"), Contains("out of range"));
  CHECK_THAT(complaint(", \"step\": 0.5", ""), Contains("its range has no step"));
  CHECK_THAT(complaint("[4, 5]", "[5, 4]"), Contains("above the last"));
  CHECK_THAT(complaint("[0.1, 1]", "[1, 1]"), Contains("a value is there twice"));
  CHECK_THAT(complaint("\"values\": [0.1, 1]", ""), Contains("it has no values"));
  CHECK_THAT(complaint("\"c\": {\"v", "\"until\": {\"v"), Contains("cannot be named"));
  CHECK_THAT(complaint("[\"input\"]", "[\"inputs\"]"), Contains("not among simulation.files"));
  CHECK_THAT(complaint("input/in.txt", "input/out.txt"), Contains("there is no such file"));
  CHECK_THAT(complaint("\"file\": \"stop\"", "\"file\": \"a/stop\""), Contains("without \"/\""));
  CHECK_THAT(complaint(", \"reached\": {\"file\": \"r.json\", \"key\": \"steps\"}", ""),
             Contains("how many steps"));
  CHECK_THAT(complaint("\"mode\": \"segments\"", "\"mode\": \"self\""), Contains("no means"));
  CHECK_THAT(complaint("[\"e\"]", "[\"e\", \"f\"]"), Contains("2 columns of errors"));
  CHECK_THAT(complaint("[0.9, 1.1]", "[1.1, 0.9]"), Contains("is empty"));
  CHECK_THAT(complaint("\"holdout\": 2", "\"holdout\": 1"), Contains("2 simulations at least"));
  CHECK_THAT(complaint("\"holdout\": 2", "\"holdout\": 3"), Contains("fewer than 4 to train on"));
  CHECK_THAT(complaint("[\"e\"]", "[]"), Contains("no error bars"));
  CHECK_THAT(complaint("\"first_results\": 4", "\"first_results\": 3"), Contains("out of range"));
  CHECK_THAT(complaint("\"holdout\": 2", "\"holdout\": 7"), Contains("only 6 points"));
  CHECK_THAT(complaint("\"emulated\"", "\"emulatd\""), Contains("did you mean \"emulated\"?"));
  CHECK_THAT(complaint("\"mean_life_seconds\": 20", "\"mean_life\": 20"), Contains("unknown key"));
  CHECK_THAT(complaint("\"step\": 0.5", "\"step\": 1e-9"), Contains("more than a million"));
  CHECK_THAT(complaint("[4, 5], \"step\": 0.5", "[1e12, 1000000000003], \"step\": 1"),
             Contains("twelfth digit"));
  CHECK_THAT(complaint("\"c\": {\"v", "\"a~/b\": {\"v"), Contains("cannot be named \"a~/b\""));
}

TEST_CASE("What could only fail after everything was simulated is refused", "[campaign_config]") {
  using Catch::Contains;
  CHECK_THAT(complaint("[\"state*\"]", "[\"../state\"]"),
             Contains("not in the simulation's folder"));
  CHECK_THAT(complaint("[\"state*\"]", "[\"/etc/x\"]"), Contains("checkpoint.files.0"));
  CHECK_THAT(complaint("[\"state*\"]", "[\"stop\"]"), Contains("for something else"));
  CHECK_THAT(complaint("\"file\": \"stop\"", "\"file\": \"p.csv\""), Contains("stop.file"));
  CHECK_THAT(complaint("\"file\": \"stop\"", "\"file\": \"input\""), Contains("stop.file"));
  CHECK_THAT(complaint("{\"file\": \"r.json\", \"key\"", "{\"file\": \"s.json\", \"key\""),
             Contains("neither a checkpoint nor a result"));
  CHECK_THAT(complaint("\"profile\": {\"file\": \"p.csv\"", "\"profile\": {\"file\": \"q.csv\""),
             Contains("\"q.csv\" is no result"));
  CHECK_THAT(complaint("\"profile\": {\"file\": \"p.csv\"", "\"profile\": {\"file\": \"r.json\""),
             Contains("is no table"));
  CHECK_THROWS_WITH(parse_campaign_config(R"({"name": "a", "space": {"c": {"values": [1]}},
          "simulation": {"command": ["x", "{steps}"], "steps": 10, "checkpoint": {"files": ["s"]},
                         "result": {"files": ["r.csv"]}, "valid": {"ranges": {"t": [0, 1]}}}})",
                                          "text"),
                    Contains("no result has numbers with names"));
  CHECK_THAT(complaint("[\"r.json\", \"p.csv\"]", "[\"p.csv\"]"), Contains("r.json"));
}

TEST_CASE("A surrogate needs profiles, and the rule uncertainty a surrogate with a spread",
          "[campaign_config]") {
  using Catch::Contains;
  const auto complaint_about = [](const std::string& part, const std::string& other) {
    std::string text = R"({"name": "a", "space": {"c": {"range": [1, 20], "step": 1}},
        "simulation": {"command": ["x", "{steps}"], "steps": 10, "checkpoint": {"files": ["s"]},
                       "result": {"files": ["r.csv"], "profile": {"file": "r.csv", "x": "x", "y": ["y"]}}},
        "selection": {"holdout": 4, "rule": "uncertainty"}, "surrogate": {}})";
    const std::size_t place = text.find(part);
    REQUIRE(place != std::string::npos);
    text.replace(place, part.size(), other);
    try {
      parse_campaign_config(text, "text");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  CHECK(complaint_about("{}", "{}") == "nothing");
  CHECK_THAT(complaint_about(", \"surrogate\": {}", ""), Contains("there is no surrogate"));
  CHECK_THAT(complaint_about("{}", R"({"members": 1})"), Contains("no spread"));
  CHECK(complaint_about(R"("uncertainty"}, "surrogate": {})",
                        R"("random"}, "surrogate": {"members": 1})") == "nothing");
  CHECK_THAT(complaint_about(R"(, "profile": {"file": "r.csv", "x": "x", "y": ["y"]})", ""),
             Contains("results have none"));
}

TEST_CASE("Each ready campaign is valid, named after its file, and survives a round trip",
          "[campaign_config]") {
  int campaigns = 0;
  for (const auto& entry : fs::directory_iterator(SCAVENGER_CONFIGS)) {
    if (!entry.path().filename().string().starts_with("electrolyte")) continue;
    INFO(entry.path());
    const CampaignConfig config = load_campaign_config(entry.path());
    CHECK(config.name == entry.path().stem().string());
    CHECK(parse_campaign_config(json_text(to_json(config)), "again") == config);
    ++campaigns;
  }
  CHECK(campaigns == 2);
}

TEST_CASE("A file that is missing is named", "[campaign_config]") {
  const Folder folder;
  fs::remove_all(folder.path() / "input");
  CHECK_THROWS_WITH(load_campaign_config(folder.write(kFull)),
                    Catch::Contains("simulation.files.0"));
  CHECK_THROWS_AS(load_campaign_config(folder.path() / "none.json"), ConfigError);
}

}  // namespace
}  // namespace scavenger::campaign
