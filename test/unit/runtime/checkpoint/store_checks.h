// What tests of full disks and killed processes ask of the store that is left.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/checkpoint/checkpoint_store.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"

namespace scavenger {

inline CheckpointStore store_on(Disk& disk, const TemporaryFolder& folder) {
  return CheckpointStore(disk, folder.path() / "checkpoints", {.keep_last = 2, .keep_best = true});
}

// The iteration of the latest checkpoint, 0 where there are none. All must be as
// sample_checkpoint() makes them, and none damaged.
inline std::uint64_t latest_whole_iteration(const TemporaryFolder& folder) {
  LocalDisk disk;
  const auto loaded = store_on(disk, folder).load_latest_good([](const Error& error) {
    FAIL("damaged: " << error.what());
  });
  if (!loaded) return 0;
  REQUIRE(loaded->content == sample_checkpoint(loaded->content.iteration));
  return loaded->content.iteration;
}

inline bool has_leftovers(const TemporaryFolder& folder) {
  const auto names = std::filesystem::directory_iterator(folder.path() / "checkpoints");
  return std::any_of(begin(names), end(names), [](const std::filesystem::directory_entry& entry) {
    return entry.path().filename().string().starts_with('.');
  });
}

}  // namespace scavenger
