#include "runtime/config/paths.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "test/unit/runtime/config/config_folder.h"

namespace scavenger {
namespace {

// kValidConfig on files, which are beside it.
std::string idx_config() {
  const std::string train_only =
      replaced(kValidConfig, R"({ "format": "synthetic", "samples": 1000, "feature_count": 12 })",
               R"({ "format": "idx", "features": "train-images.gz", "labels": "train-labels" })");
  return replaced(
      train_only,
      R"({ "format": "synthetic", "samples": 100, "feature_count": 12, "first_sample": 1000 })",
      R"({ "format": "idx", "features": "sub/../test-images", "labels": "test-labels" })");
}

class DataFolder final {
 public:
  DataFolder() {
    for (const char* name : {"train-images.gz", "train-labels", "test-images", "test-labels"})
      write_file_atomically(config_.path() / name, "");
  }
  const ConfigFolder& config() const { return config_; }
  std::filesystem::path path(const std::string& name) const { return config_.path() / name; }

 private:
  ConfigFolder config_;
};

TEST_CASE("Relative data paths count from the configuration's folder and become absolute") {
  const DataFolder folder;

  const DataConfig data = folder.config().load(idx_config()).data;

  CHECK(data.train.features == folder.path("train-images.gz"));
  CHECK(data.train.labels == folder.path("train-labels"));
  CHECK(data.test.features == folder.path("test-images"));
  CHECK(data.test.labels == folder.path("test-labels"));
}

TEST_CASE("Relative data paths in an override count from the current folder") {
  JobConfig config;
  config.data.train.files = {"a.csv", "/b.csv"};
  config.data.test.files = {"c.csv"};
  config.model.path = "model.pt";
  config.model.start.weights = "w.safetensors";
  ValuePlaces places("x.json");
  places.set_line(JsonPointer("/data/train/files"), 3);
  places.set_override(JsonPointer("/data/test"), "--set data.test=...");

  make_paths_absolute(config, places, "/configs", "/home/me");

  const DataConfig& data = config.data;
  CHECK(data.train.files == std::vector<std::filesystem::path>{"/configs/a.csv", "/b.csv"});
  CHECK(data.test.files == std::vector<std::filesystem::path>{"/home/me/c.csv"});
  CHECK(config.model.path == "/configs/model.pt");
  CHECK(config.model.start.weights == "/configs/w.safetensors");
}

TEST_CASE("A missing data file is an error that names it, and a similar one beside it") {
  const DataFolder folder;
  std::filesystem::rename(folder.path("train-images.gz"), folder.path("train-images"));

  const Problem problem = folder.config().problem(idx_config());

  CHECK_THAT(problem.where, Catch::EndsWith("job.json:4: data.train.features"));
  CHECK(problem.what == "there is no file " + folder.path("train-images.gz").string());
  CHECK(problem.remedy == "did you mean train-images?");
}

TEST_CASE("A missing data file is an error that says where to get it") {
  struct Case {
    std::string source, remedy;
  };
  const auto example = GENERATE(
      Case{
          R"({"format":"idx","features":"/none/fashion-mnist/x","labels":"/none/fashion-mnist/y"})",
          "apt-get install dataset-fashion-mnist"},
      Case{R"({"format":"idx","features":"/none/x","labels":"/none/y"})",
           "https://ossci-datasets.s3.amazonaws.com/mnist"},
      Case{R"({"format":"cifar10","files":["/none/x"]})",
           "https://www.cs.toronto.edu/~kriz/cifar.html"},
      Case{R"({"format":"cifar10","files":["/none/data/cifar10/x"]})",
           "run scripts/fetch_data.sh cifar10"},
      Case{R"({"format":"csv","files":["/none/x"]})", "correct the path"});
  const ConfigFolder folder;

  const Problem problem =
      folder.problem(kValidConfig, {"data.train=" + example.source, "data.test=" + example.source});

  CHECK_THAT(problem.what, Catch::Contains("there is no file /none/"));
  CHECK_THAT(problem.remedy, Catch::Contains(example.remedy));
}

TEST_CASE("A folder in place of a data file is an error") {
  const DataFolder folder;
  std::filesystem::remove(folder.path("test-labels"));
  std::filesystem::create_directory(folder.path("test-labels"));

  const Problem problem = folder.config().problem(idx_config());

  CHECK_THAT(problem.where, Catch::EndsWith("job.json:5: data.test.labels"));
  CHECK_THAT(problem.what, Catch::EndsWith("test-labels is a folder"));
}

TEST_CASE("A data file that may not be read is an error") {
  if (::geteuid() == 0) {
    WARN("skipped: root may read every file");
    return;
  }
  const DataFolder folder;
  std::filesystem::permissions(folder.path("train-labels"), std::filesystem::perms::none);

  const Problem problem = folder.config().problem(idx_config());

  CHECK_THAT(problem.what, Catch::EndsWith("train-labels may not be read"));
  CHECK_THAT(problem.remedy, Catch::Contains("chmod +r"));
}

TEST_CASE("A configuration can be looked at where its data are not") {
  const DataFolder folder;
  folder.config().load(idx_config());
  std::filesystem::remove(folder.path("train-labels"));

  CHECK_NOTHROW(load_job_config(folder.config().file(), {}, DataFiles::kNotChecked));
}

}  // namespace
}  // namespace scavenger
