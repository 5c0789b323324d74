#include "runtime/config/build_features.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

namespace scavenger {

TEST_CASE("What the build lacks is refused, with what to do about it") {
  JobConfig config;
  CHECK_NOTHROW(require_features(config, {}));
  const auto problem_of = [&](const BuildFeatures& features) {
    try {
      require_features(config, features);
    } catch (const ConfigError& error) {
      return error.problem();
    }
    return Problem{};
  };

  config.sync.strategy = SyncStrategy::kGloo;
  CHECK(problem_of({}).where == "sync.strategy");
  CHECK(problem_of({true, false, false}).what.empty());
  config.sync.strategy = SyncStrategy::kNccl;
  CHECK_THAT(problem_of({true, false, false}).what, Catch::Contains("NCCL"));
  CHECK_THAT(problem_of({true, false, false}).remedy, Catch::Contains("CUDA"));
  CHECK(problem_of({true, true, true}).what.empty());
  config.sync.strategy = SyncStrategy::kParameterServer;
  config.sync.hierarchy = SyncHierarchy::kNccl;
  CHECK(problem_of({true, false, false}).where == "sync.hierarchy");
  CHECK(problem_of({true, true, true}).what.empty());
  config.sync.hierarchy = SyncHierarchy::kAutomatic;
  config.device = Device::kCuda;
  CHECK(problem_of({true, false, false}).where == "device");
  config.device = Device::kAutomatic;
  CHECK(problem_of({}).what.empty());
}

TEST_CASE("a job that cannot do without GPUs is refused where there are none") {
  JobConfig config;
  CHECK_NOTHROW(require_gpus(config, 0));
  config.device = Device::kCuda;
  CHECK_NOTHROW(require_gpus(config, 1));  // which all its workers share
  CHECK_THROWS_WITH(require_gpus(config, 0),
                    Catch::Contains("device") && Catch::Contains("driver"));

  config.sync.strategy = SyncStrategy::kNccl;
  config.cluster.workers = 2;
  CHECK_NOTHROW(require_gpus(config, 2));
  CHECK_THROWS_WITH(require_gpus(config, 0), Catch::Contains("sync.strategy"));
  CHECK_THROWS_WITH(require_gpus(config, 1), Catch::Contains("cluster.workers"));
}

}  // namespace scavenger
