#include "runtime/schema/input_file.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

namespace scavenger {

TEST_CASE("An input that cannot be read, or never ends, is the user's and has a remedy") {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe", table = folder.path() / "table.csv";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::filesystem::path& path : {pipe, std::filesystem::path("/dev/zero")}) {
    CHECK_THROWS_AS(read_input_file(path, "name a table"), InputError);
    CHECK_THROWS_WITH(read_input_file(path, "name a table"),
                      path.string() + ": is not a regular file; name a table");
  }
  CHECK_THROWS_WITH(read_input_file(table, "name a table"), Catch::Contains("No such file"));
  write_file_atomically(table, "k,b\n");
  CHECK(read_input_file(table, "name a table") == "k,b\n");
}

}  // namespace scavenger
