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

TEST_CASE("What a script decides by itself, and what it cannot reach, is refused") {
  const ConfigFolder folder;
  const std::string script = R"(model={"type":"python","loop":"script","file":")" +
                             (folder.path() / "job.json").string() + "\"}";
  const auto said_of = [&](const std::string& setting) {
    return folder.problem(kValidConfig, {script, kOwnData, setting}).what;
  };
  CHECK_THAT(said_of("compute.micro_batch=2"), Catch::Contains("a script computes its batches"));
  CHECK_THAT(said_of("compute.precision=bfloat16"), Catch::Contains("chooses its precision"));
  CHECK_THAT(said_of("data.validation_share=0.1"), Catch::Contains("holds samples back by itself"));
  CHECK_THAT(folder.problem(kValidConfig, {script}).what,
             Catch::Contains("a script brings its own data"));
  CHECK_THAT(
      folder.problem(kValidConfig, {model_of(folder), R"(model.arguments=["x"])", kOwnData}).what,
      Catch::Contains("only a script has a command line"));
  CHECK_THAT(folder
                 .problem(kValidConfig, {script, kOwnData, "evaluation.enabled=false",
                                         R"(stop={"target":{"metric":"loss","value":1}})"})
                 .what,
             Catch::Contains("nothing is measured that could reach it"));
}

TEST_CASE("A configuration that is in no file has its name in errors") {
  const ConfigFolder folder;
  const std::string text = "{\n\"batch_size\": 0}";
  try {
    job_config_from_text(text, "what train.py says", folder.path());
    FAIL("it was taken");
  } catch (const ConfigError& error) {
    CHECK_THAT(error.problem().where, Catch::StartsWith("what train.py says:"));
  }
}

TEST_CASE("What a worker of Python models does not do is refused") {
  const ConfigFolder folder;
  const auto said_of = [&](const std::string& setting) {
    return folder.problem(kValidConfig, {model_of(folder), setting}).what;
  };
  CHECK_THAT(said_of("sync.strategy=gloo"), Catch::Contains("trained with parameter servers"));
  CHECK_THAT(said_of("sync.strategy=all_reduce"),
             Catch::Contains("for optimizers that workers step in Python"));
  CHECK_THAT(said_of("compute.precision=float16"), Catch::Contains("not computed in float16"));
  CHECK(folder.load(kValidConfig, {model_of(folder), "device=cuda"}).device == Device::kCuda);
  CHECK_THAT(folder.problem(kValidConfig, {kOwnData}).what,
             Catch::Contains("only a model in Python has data in Python"));
}

TEST_CASE("A share of the training data is the test data only if there are no others") {
  const ConfigFolder folder;
  const std::string file = (folder.path() / "job.json").string();
  const auto with = [&](const std::string& rest) {
    return "data={\"train\": {\"format\": \"table\", \"files\": [\"" + file +
           "\"]}, \"columns\": {\"label\": \"y\"}" + rest + "}";
  };
  const auto said_of = [&](const std::string& rest) {
    return folder.problem(kValidConfig, {model_of(folder), with(rest)}).what;
  };
  const JobConfig config =
      folder.load(kValidConfig, {model_of(folder), with(R"(, "validation_share": 0.2)")});
  CHECK(config.data.test == config.data.train);
  CHECK(parse_resolved_config(to_json(config).dump(), "test") == config);
  CHECK_THAT(said_of(""), Catch::Contains("the test data are the training data"));
  CHECK_THAT(said_of(R"(, "validation_share": 0.2, "test": {"format": "table", "files": ["/b"]})"),
             Catch::Contains("there are test data already"));
}

TEST_CASE("What formats of Python lack is said") {
  const ConfigFolder folder;
  const std::string file = (folder.path() / "job.json").string();
  const auto said_of = [&](const std::string& format, const std::string& rest) {
    const std::string source = R"({"format": ")" + format + R"(", "files": [")" + file + "\"]}";
    return folder
        .problem(kValidConfig, {model_of(folder), R"(data={"validation_share": 0.2, "train": )" +
                                                      source + rest + "}"})
        .what;
  };
  CHECK_THAT(said_of("table", ""), Catch::Contains("\"columns.label\" is missing"));
  CHECK_THAT(said_of("image_folder", R"(, "classes": 2)"),
             Catch::Contains("\"sample_shape\" is missing"));
  CHECK_THAT(said_of("image_folder", R"(, "sample_shape": [3, 8, 8])"),
             Catch::Contains("\"classes\" is missing"));
  CHECK_THAT(said_of("table", R"(, "columns": {"label": "y", "text": "t"})"),
             Catch::Contains("text needs a tokenizer"));
  CHECK_THAT(said_of("table", R"(, "columns": {"label": "y", "image": "t", "features": ["a"]})"),
             Catch::Contains("inputs of several kinds"));
  CHECK_THAT(folder.problem(kValidConfig, {"data.test=null"}).what,
             Catch::Contains("\"test\" is missing"));
  CHECK_THAT(folder.problem(kValidConfig, {R"(optimizer={"type": "python"})"}).what,
             Catch::Contains("only a model in Python has its optimizer in Python"));
}

}  // namespace
}  // namespace scavenger
