#include "runtime/base/file.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "test/support/temporary_folder.h"

namespace scavenger {

TEST_CASE("An atomic write replaces the content and leaves nothing beside it") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "report.json";

  write_file_atomically(path, "old");
  write_file_atomically(path, "new");

  CHECK(read_file(path) == "new");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("A missing file is named in the error") {
  CHECK_THROWS_WITH(read_file("/nonexistent/x"),
                    Catch::Contains("/nonexistent/x") && Catch::Contains("No such file"));
}

TEST_CASE("A mapped file shows the file's bytes, and an empty file maps to none") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "a", "abc");
  write_file_atomically(folder.path() / "empty", "");

  CHECK(MappedFile(folder.path() / "a").bytes().size() == 3);
  CHECK(MappedFile(folder.path() / "empty").bytes().empty());
}

}  // namespace scavenger
