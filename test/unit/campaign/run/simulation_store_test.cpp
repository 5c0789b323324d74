#include "campaign/run/simulation_store.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

std::vector<TaskFile> segment(const std::string& state) {
  return {{"state", state, true, false}, {"deep/r.json", "{\"a\": 1}", false, false}};
}

TEST_CASE("What was kept is read again", "[store]") {
  const TemporaryFolder folder;
  const SimulationStore store(folder.path());
  store.keep(7, 1, segment("one"));
  const auto checkpoint = store.read_checkpoint(7, 1);
  REQUIRE(checkpoint.size() == 1);
  CHECK(checkpoint[0].content == "one");
  CHECK(store.read_results(7, 1) == std::vector<ResultFile>{{"deep/r.json", "{\"a\": 1}"}});
  store.keep(7, 1, segment("again"));  // an abandoned one of the same number
  CHECK(store.read_checkpoint(7, 1)[0].content == "again");
}

TEST_CASE("The last two checkpoints are kept, and all results", "[store]") {
  const TemporaryFolder folder;
  const SimulationStore store(folder.path());
  for (std::uint64_t number = 1; number <= 4; ++number)
    store.keep(0, number, segment(std::to_string(number)));
  CHECK_THROWS_AS(store.read_checkpoint(0, 2), CheckpointError);
  CHECK(store.read_checkpoint(0, 3)[0].content == "3");
  CHECK(store.read_checkpoint(0, 4)[0].content == "4");
  CHECK(store.read_results(0, 1).size() == 1);
}

TEST_CASE("A damaged checkpoint is recognised, and the one before counts", "[store]") {
  const TemporaryFolder folder;
  const SimulationStore store(folder.path());
  for (std::uint64_t number = 1; number <= 3; ++number) store.keep(0, number, segment("state"));
  CHECK(store.newest_intact(0, 3) == 3);
  const fs::path last = store.folder_of(0) / "segment-3";
  write_file_atomically(last / "checkpoint/state", "statf");
  CHECK(store.newest_intact(0, 3) == 2);
  write_file_atomically(store.folder_of(0) / "segment-2/manifest.json", "[{\"name\": \"../x\"}]");
  CHECK(store.newest_intact(0, 3) == 0);
  CHECK(store.newest_intact(9, 3) == 0);
}

TEST_CASE("Without a result there are no files", "[store]") {
  const TemporaryFolder folder;
  const SimulationStore store(folder.path());
  CHECK(store.result_of(1).empty());
  store.keep_result(1, 1, {{"b", "2"}, {"a/c", "1"}});
  CHECK(store.result_of(1) == std::vector<ResultFile>{{"a/c", "1"}, {"b", "2"}});
  // A longer one leaves the earlier, also if it is kept again after a kill.
  for (const char* longer : {"not whole", "3"}) {
    store.keep_result(1, 2, {{"b", longer}});
    CHECK(store.result_of(1) == std::vector<ResultFile>{{"b", longer}});
    CHECK(store.result_of(1, 2) == store.result_of(1));
    CHECK(store.result_of(1, 1) == std::vector<ResultFile>{{"a/c", "1"}, {"b", "2"}});
  }
  store.keep_result(1, 4, {{"b", "4"}});
  CHECK(store.result_of(1, 1).size() == 2);
  CHECK(store.result_of(1, 2) == std::vector<ResultFile>{{"b", "3"}});
  CHECK(store.result_of(1, 4) == std::vector<ResultFile>{{"b", "4"}});
}

}  // namespace
}  // namespace scavenger::campaign
