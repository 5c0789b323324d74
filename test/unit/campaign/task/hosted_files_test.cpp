#include "campaign/task/hosted_files.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"
#include "test/unit/campaign/task/announced_file.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

TEST_CASE("A file that comes in pieces has its name when it is whole", "[hosted_files]") {
  const TemporaryFolder folder;
  ArrivingFile file(folder.path(), announced("a/state", "0123456789"));
  file.add("01234");
  CHECK_FALSE(file.is_whole());
  CHECK_FALSE(fs::exists(folder.path() / "a/state"));
  file.add("56789");
  REQUIRE(file.is_whole());
  file.finish();
  CHECK(read_file(folder.path() / "a/state") == "0123456789");
  CHECK_THROWS_AS(file.add("x"), ProtocolError);
}

TEST_CASE("A file with another hash does not get its name", "[hosted_files]") {
  const TemporaryFolder folder;
  ArrivingFile file(folder.path(), announced("state", "abc"));
  file.add("abd");
  CHECK_THROWS_AS(file.finish(), ProtocolError);
  CHECK_FALSE(fs::exists(folder.path() / "state"));
}

TEST_CASE("Files are found by their patterns, and each pattern needs one", "[hosted_files]") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "out");
  write_file_atomically(folder.path() / "restart.2", "two");
  write_file_atomically(folder.path() / "restart.1", "one");
  write_file_atomically(folder.path() / "out/p.csv", "z\n");
  const auto files = read_fitting_files(folder.path(), {"restart.*", "out/*"}, true);
  REQUIRE(files.size() == 3);
  CHECK(files[0].name == "out/p.csv");
  CHECK(files[1].content == "one");
  CHECK(files[1].is_checkpoint);
  CHECK_THROWS_WITH(read_fitting_files(folder.path(), {"restart.*", "none"}, true),
                    Catch::Contains("none"));
}

TEST_CASE("A work folder is removed, also that of a killed process", "[hosted_files]") {
  fs::path place;
  {
    const WorkFolder folder;
    place = folder.path();
    CHECK(fs::exists(place));
    CHECK((fs::status(place).permissions() & fs::perms::others_all) == fs::perms::none);
    const WorkFolder other;  // does not remove that of a living process
    CHECK(fs::exists(place));
    CHECK(other.path() != place);
  }
  CHECK_FALSE(fs::exists(place));
  const fs::path abandoned = fs::temp_directory_path() / "scavenger-task-abandoned";
  fs::create_directories(abandoned);
  write_file_atomically(abandoned / "lock", "");
  const WorkFolder next;
  CHECK_FALSE(fs::exists(abandoned));
}

}  // namespace
}  // namespace scavenger::campaign
