// A writing process that is killed, at every step and at random instants: the store it leaves
// loads without any damage, and the next process goes on from there.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <exception>
#include <memory>

#include "runtime/base/random.h"
#include "runtime/checkpoint/checkpoint_store.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"
#include "test/unit/runtime/checkpoint/stepwise_disk.h"
#include "test/unit/runtime/checkpoint/store_checks.h"

namespace scavenger {
namespace {

template <typename Body>
pid_t start_process(const Body& body) {
  const pid_t process = ::fork();
  REQUIRE(process >= 0);
  if (process != 0) return process;
  try {
    body();
    ::_exit(0);
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

int wait_for(pid_t process) {
  int status = 0;
  REQUIRE(::waitpid(process, &status, 0) == process);
  return status;
}

// Kills its own process before step number `step`, or in the middle of a write that is one.
StepwiseDisk disk_that_kills_at(std::uint64_t step) {
  const auto left = std::make_shared<std::uint64_t>(step);
  return StepwiseDisk(
      {.before_step =
           [left] {
             if ((*left)-- == 0) ::raise(SIGKILL);
           },
       .room_for = [left](std::size_t wanted) { return (*left)-- == 0 ? wanted / 2 : wanted; },
       .when_full = [] { ::raise(SIGKILL); }});
}

}  // namespace

TEST_CASE("A process killed at any step of writing leaves whole checkpoints only") {
  std::uint64_t step = 0;
  bool ended_by_itself = false;
  for (; !ended_by_itself; ++step) {
    const TemporaryFolder folder;
    QuickDisk good;
    for (const std::uint64_t iteration : {1, 2}) {
      store_on(good, folder).write(sample_checkpoint(iteration), iteration == 1);
    }

    const int status = wait_for(start_process([&] {
      StepwiseDisk disk = disk_that_kills_at(step);
      store_on(disk, folder).write(sample_checkpoint(3), true);
    }));

    ended_by_itself = WIFEXITED(status);
    REQUIRE((!ended_by_itself || WEXITSTATUS(status) == 0));
    REQUIRE(latest_whole_iteration(folder) >= (ended_by_itself ? 3U : 2U));
    store_on(good, folder).write(sample_checkpoint(4), false);
    REQUIRE(latest_whole_iteration(folder) == 4);
    REQUIRE_FALSE(has_leftovers(folder));
  }
  CHECK(step > 20);
}

TEST_CASE("A process killed while it writes over a checkpoint leaves the old or the new one") {
  bool ended_by_itself = false;
  for (std::uint64_t step = 0; !ended_by_itself; ++step) {
    const TemporaryFolder folder;
    QuickDisk good;
    CheckpointStore store(good, folder.path() / "checkpoints",
                          {.keep_last = 1, .keep_best = false});
    store.write(sample_checkpoint(1), false);

    const int status = wait_for(start_process([&] {
      StepwiseDisk disk = disk_that_kills_at(step);
      store_on(disk, folder).write(sample_checkpoint(1), false);
    }));

    ended_by_itself = WIFEXITED(status);
    REQUIRE(latest_whole_iteration(folder) == 1);
  }
}

TEST_CASE("A process killed at random instants never loses a checkpoint") {
  const TemporaryFolder folder;
  RandomStream random(7, "kill");
  std::uint64_t latest = 0;
  for (int round = 0; round < 60; ++round) {
    const pid_t writer = start_process([&] {
      QuickDisk disk;
      CheckpointStore store = store_on(disk, folder);
      for (std::uint64_t i = latest + 1;; ++i) store.write(sample_checkpoint(i), i % 3 == 0);
    });
    ::usleep(static_cast<useconds_t>(random.below(20000)));
    REQUIRE(::kill(writer, SIGKILL) == 0);
    REQUIRE(WIFSIGNALED(wait_for(writer)));

    const std::uint64_t found = latest_whole_iteration(folder);
    REQUIRE(found >= latest);
    latest = found;
  }
  CHECK(latest > 0);
}

}  // namespace scavenger
