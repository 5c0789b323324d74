// A disk that is full, in play at every byte and for real: earlier checkpoints stay, nothing is
// left behind, and the error says what to do.
#include <sys/mount.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/checkpoint/checkpoint_store.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/checkpoint/quick_disk.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"
#include "test/unit/runtime/checkpoint/stepwise_disk.h"
#include "test/unit/runtime/checkpoint/store_checks.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_as_full() {
  throw SystemError(ENOSPC, {.what = "cannot write", .where = "test disk", .remedy = {}});
}

StepwiseDisk disk_with_room_for(std::uint64_t bytes) {
  const auto left = std::make_shared<std::uint64_t>(bytes);
  return StepwiseDisk({.before_step = [] {},
                       .room_for =
                           [left](std::size_t wanted) {
                             const auto room = std::min<std::uint64_t>(wanted, *left);
                             *left -= room;
                             return static_cast<std::size_t>(room);
                           },
                       .when_full = fail_as_full});
}

StepwiseDisk disk_that_fails_at_step(std::uint64_t step) {
  const auto left = std::make_shared<std::uint64_t>(step);
  return StepwiseDisk({.before_step =
                           [left] {
                             if (*left == 0) fail_as_full();
                             --*left;
                           },
                       .room_for = [](std::size_t wanted) { return wanted; },
                       .when_full = fail_as_full});
}

// A file system of 1 MiB; `mounted()` is false where we may not make one.
class SmallDisk {
 public:
  SmallDisk() : mounted_(::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=1m") == 0) {
    if (!mounted_) WARN("skipped: cannot mount a tmpfs: " << std::strerror(errno));
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  bool mounted_;
};

// Some 360 kB: two fit on a small disk, a third one does not.
Checkpoint large_checkpoint(std::uint64_t iteration) {
  Checkpoint checkpoint = sample_checkpoint(iteration);
  checkpoint.parameters.add("head.weight", {300, 100});
  checkpoint.weights.resize(checkpoint.parameters.flat_size(), 1.0F);
  for (auto& [name, values] : checkpoint.optimizer.slots) values.resize(checkpoint.weights.size());
  return checkpoint;
}

// A file system that does not say how much is free, so that the writing itself must fail.
class TaciturnDisk final : public LocalDisk {
  std::optional<std::uint64_t> free_bytes(const fs::path&) override { return {}; }
};

}  // namespace

TEST_CASE("A disk that is full after any number of bytes costs the new checkpoint only") {
  const TemporaryFolder folder;
  QuickDisk good;
  store_on(good, folder).write(sample_checkpoint(1), true);
  const std::uint64_t whole = store_on(good, folder).write(sample_checkpoint(2), false).bytes;

  RandomStream random(3, "room");
  for (std::uint64_t room = 0; room < whole; room += 1 + random.below(20)) {
    StepwiseDisk disk = disk_with_room_for(room);
    REQUIRE_THROWS_AS(store_on(disk, folder).write(sample_checkpoint(3), false), SystemError);
    REQUIRE_FALSE(has_leftovers(folder));
    REQUIRE_FALSE(fs::exists(folder.path() / "checkpoints" / checkpoint_name(3)));
    REQUIRE(latest_whole_iteration(folder) == 2);
  }

  store_on(good, folder).write(sample_checkpoint(3), false);
  CHECK(latest_whole_iteration(folder) == 3);
}

TEST_CASE("A disk that fails at any step leaves checkpoints that load") {
  for (std::uint64_t step = 0;; ++step) {
    const TemporaryFolder folder;
    QuickDisk good;
    for (const std::uint64_t iteration : {1, 2, 3}) {
      store_on(good, folder).write(sample_checkpoint(iteration), iteration == 1);
    }
    StepwiseDisk disk = disk_that_fails_at_step(step);
    bool failed = false;
    try {
      store_on(disk, folder).write(sample_checkpoint(4), true);
    } catch (const SystemError&) {
      failed = true;
    }
    const std::uint64_t latest = latest_whole_iteration(folder);
    REQUIRE((latest == 4 || (failed && latest == 3)));
    REQUIRE(store_on(good, folder).best()->iteration == (latest == 4 ? 4U : 1U));
    store_on(good, folder).write(sample_checkpoint(5), false);
    REQUIRE(latest_whole_iteration(folder) == 5);
    REQUIRE_FALSE(has_leftovers(folder));
    if (!failed) {
      CHECK(step > 15);
      return;
    }
  }
}

TEST_CASE("The error of a full disk says what is needed, what is free, what stays and what to do") {
  class DiskOf100Bytes final : public QuickDisk {
    std::optional<std::uint64_t> free_bytes(const fs::path&) override { return 100; }
  };
  const TemporaryFolder folder;
  QuickDisk good;
  store_on(good, folder).write(sample_checkpoint(1), false);
  DiskOf100Bytes disk;

  CHECK_THROWS_WITH(store_on(disk, folder).write(sample_checkpoint(2), false),
                    Catch::Contains("the checkpoint of iteration 2 is not written") &&
                        Catch::Contains("needed") && Catch::Contains("100 B free") &&
                        Catch::Contains("the last one stays: iteration_000000001") &&
                        Catch::Contains("training can go on"));
}

TEST_CASE("A really full disk keeps the older checkpoints and gets no leftovers") {
  const SmallDisk small;
  if (!small.mounted()) return;
  LocalDisk local;
  TaciturnDisk taciturn;
  Disk& disk = GENERATE(0, 1) == 0 ? static_cast<Disk&>(local) : taciturn;
  CheckpointStore store(disk, small.folder().path() / "checkpoints",
                        {.keep_last = 5, .keep_best = false});
  store.write(large_checkpoint(1), false);
  store.write(large_checkpoint(2), false);

  CHECK_THROWS_AS(store.write(large_checkpoint(3), false), SystemError);

  CHECK_FALSE(has_leftovers(small.folder()));
  const auto loaded = store.load_latest_good([](const Error&) {});
  CHECK(loaded->content == large_checkpoint(2));
}

}  // namespace scavenger
