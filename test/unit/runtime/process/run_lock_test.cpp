#include "runtime/process/run_lock.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <memory>

#include "runtime/base/error.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;

TEST_CASE("a second process on the same run is refused while the first lives") {
  const TemporaryFolder folder;
  auto first = std::make_unique<RunLock>(folder.path());

  CHECK_THROWS_WITH(RunLock(folder.path()),
                    Catch::Contains("another process") && Catch::Contains(folder.path().string()));
  first.reset();
  CHECK_NOTHROW(RunLock(folder.path()));
}

TEST_CASE("nobody but the owner can open what is locked, however it came to be") {
  const TemporaryFolder folder;
  const auto mode_of_lock = [&] {
    struct stat status {};
    REQUIRE(::stat((folder.path() / "lock").c_str(), &status) == 0);
    return status.st_mode & 07777;
  };

  { const RunLock lock(folder.path()); }
  CHECK(mode_of_lock() == 0600);
  REQUIRE(::chmod((folder.path() / "lock").c_str(), 0644) == 0);
  { const RunLock lock(folder.path()); }
  CHECK(mode_of_lock() == 0600);
}

TEST_CASE("a lock that is a link or a folder is refused") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/zero", folder.path() / "lock");
  CHECK_THROWS_AS(RunLock(folder.path()), SystemError);
}
