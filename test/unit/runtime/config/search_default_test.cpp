#include <catch2/catch.hpp>

#include "test/unit/runtime/config/config_folder.h"

namespace scavenger {
namespace {

// kValidConfig has two workers and a batch of 32.
SearchConfig search_of(const std::vector<std::string>& overrides) {
  return ConfigFolder().load(kValidConfig, overrides).search;
}

}  // namespace

TEST_CASE("A job whose K and B are fixed does not search") {
  CHECK(search_of({}).mode == SearchMode::kOff);
  CHECK(search_of({"search.policy=min-time"}).mode == SearchMode::kOff);
  CHECK(search_of({"search.workers=[2]"}).mode == SearchMode::kOff);
  CHECK(search_of({"search.workers=[2,2]"}).mode == SearchMode::kOff);
  CHECK(search_of({"search.workers=[2]", "search.batch_sizes=[32]"}).mode == SearchMode::kOff);
}

TEST_CASE("A job that is left a choice searches, and what is not named stays as configured") {
  const SearchConfig of_workers = search_of({"search.workers=[1,2,4]"});
  CHECK(of_workers.mode == SearchMode::kAuto);
  CHECK(of_workers.batch_sizes == std::vector<std::uint32_t>{32});
  const SearchConfig of_batches = search_of({"search.batch_sizes=[32,64]"});
  CHECK(of_batches.mode == SearchMode::kAuto);
  CHECK(of_batches.workers == std::vector<std::uint32_t>{2});
}

TEST_CASE("What gives no worker a sample, or one more than it holds, is no choice") {
  CHECK(search_of({"search.workers=[2,64]"}).mode == SearchMode::kOff);
  CHECK(search_of({"search.workers=[1,2]", "search.max_local_batch=16"}).mode == SearchMode::kOff);
}

TEST_CASE("What the configuration says of searching holds") {
  CHECK(search_of({"search.workers=[1,2,4]", "search.mode=off"}).mode == SearchMode::kOff);
  CHECK(search_of({"search.workers=[1,2,4]", "search.mode=partial"}).mode == SearchMode::kPartial);
  CHECK(search_of({"search.mode=auto"}).workers.empty());  // by what the cluster has room for
}

}  // namespace scavenger
