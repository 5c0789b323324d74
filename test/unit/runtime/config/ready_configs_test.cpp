// The configurations that we ship, in configs/.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "runtime/config/config_file.h"
#include "test/support/training_configs.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

TEST_CASE("Each ready configuration is valid, named after its file, and survives a round trip") {
  REQUIRE(training_configs(SCAVENGER_CONFIGS).size() >= 16);
  for (const fs::path& path : training_configs(SCAVENGER_CONFIGS)) {
    DYNAMIC_SECTION(path.filename().string()) {
      const JobConfig config = load_job_config(path, {}, DataFiles::kNotChecked);

      CHECK(config.name == path.stem().string());
      CHECK(parse_resolved_config(to_json(config).dump(), "config.json") == config);
    }
  }
}

TEST_CASE("The default job is what issue A promises: an MLP on Fashion-MNIST, K = 2, to 88 %") {
  const JobConfig config =
      load_job_config(fs::path(SCAVENGER_CONFIGS) / "fashion_mlp.json", {}, DataFiles::kNotChecked);

  CHECK(config.model.type == ModelType::kMlp);
  CHECK(config.cluster.workers == 2);
  REQUIRE(config.stop.target);
  CHECK(config.stop.target->metric == Metric::kAccuracy);
  CHECK(config.stop.target->split == Split::kTest);
  CHECK(config.stop.target->value == 0.88);
}

}  // namespace
}  // namespace scavenger
