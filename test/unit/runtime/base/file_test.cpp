#include "runtime/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

TEST_CASE("An output goes through a link, and into a pipe or device that is there") {
  const TemporaryFolder folder;
  const auto link = folder.path() / "link";
  std::filesystem::create_symlink("new.html", link);
  write_output_file(link, "page");
  CHECK(std::filesystem::is_symlink(link));
  CHECK(read_file(folder.path() / "new.html") == "page");

  const auto device = folder.path() / "null";
  std::filesystem::create_symlink("/dev/null", device);
  write_output_file(device, "page");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK(std::filesystem::is_symlink(device));

  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(write_output_file(pipe, "page"), Catch::Contains(pipe.string()));
  const FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  write_output_file(pipe, "page");
  char text[8] = {};
  CHECK(::read(reader.get(), text, sizeof text) == 4);
  CHECK(std::string(text) == "page");
  CHECK(std::filesystem::is_fifo(pipe));
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

TEST_CASE("A pipe, a device and a folder are refused at once, and not waited for or read") {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(read_file(folder.path()), Catch::Contains("Is a directory"));
  const auto zero = folder.path() / "zero";
  std::filesystem::create_symlink("/dev/zero", zero);

  for (const std::filesystem::path& path : {pipe, zero}) {
    CHECK_THROWS_WITH(read_file(path),
                      Catch::Contains(path.string()) && Catch::Contains("is not a regular file"));
    CHECK_THROWS_WITH(MappedFile(path), Catch::Contains("is not a regular file"));
  }
}

TEST_CASE("A file that is larger than it may be is refused") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "large";
  write_file_atomically(path, "12345");

  CHECK(read_file(path, 5) == "12345");
  CHECK_THROWS_WITH(read_file(path, 4), Catch::Contains("has more than 4 bytes"));
}

}  // namespace scavenger
