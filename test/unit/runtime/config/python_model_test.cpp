// Models and data sets in Python: what is read, and what their worker does not do.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/config/metric.h"
#include "test/unit/runtime/config/config_folder.h"

namespace scavenger {
namespace {

const std::string kOwnData =
    R"(data={"train": {"format": "python"}, "test": {"format": "python"}})";

std::string model_of(const ConfigFolder& folder) {
  return R"(model={"type": "python", "file": ")" + (folder.path() / "job.json").string() + "\"}";
}

TEST_CASE("A model in Python names its file, which must be there") {
  const ConfigFolder folder;
  const JobConfig config = folder.load(kValidConfig, {model_of(folder)});
  CHECK(config.model.type == ModelType::kPython);
  CHECK(config.model.path == folder.path() / "job.json");
  CHECK(parse_resolved_config(to_json(config).dump(), "test") == config);
  const Problem problem =
      folder.problem(kValidConfig, {R"(model={"type": "python", "file": "/no/such.py"})"});
  CHECK_THAT(problem.what, Catch::Contains("there is no file /no/such.py"));
}

TEST_CASE("Data in Python keep the sizes that were filled in") {
  const ConfigFolder folder;
  JobConfig config = folder.load(kValidConfig, {model_of(folder), kOwnData});
  CHECK(metrics_of(config) == std::vector{Metric::kLoss});
  config.data.train.samples = 100;
  config.data.test.samples = 10;
  config.data.test.first_sample = 100;
  CHECK(parse_resolved_config(to_json(config).dump(), "test") == config);
}

TEST_CASE("What a worker of Python models does not do is refused") {
  const ConfigFolder folder;
  const auto said_of = [&](const std::string& setting) {
    return folder.problem(kValidConfig, {model_of(folder), setting}).what;
  };
  CHECK_THAT(said_of("sync.strategy=gloo"), Catch::Contains("trained with parameter servers"));
  CHECK_THAT(said_of("device=cuda"), Catch::Contains("trained on the CPU"));
  CHECK_THAT(folder.problem(kValidConfig, {kOwnData}).what,
             Catch::Contains("only a model in Python has data in Python"));
}

}  // namespace
}  // namespace scavenger
