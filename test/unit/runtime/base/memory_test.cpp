#include "runtime/base/memory.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

namespace scavenger {
namespace {

void put(const TemporaryFolder& root, const std::string& file, const std::string& content) {
  const std::filesystem::path path = root.path() / file;
  std::filesystem::create_directories(path.parent_path());
  write_file_atomically(path, content);
}

constexpr const char* kMachine = "MemTotal:  100 kB\nMemAvailable:      60 kB\nCached: 10 kB\n";

}  // namespace

TEST_CASE("Without control groups the machine's memory counts") {
  const TemporaryFolder root;
  put(root, "proc/meminfo", kMachine);

  CHECK(available_memory_bytes(root.path()) == 60 * 1024);
}

TEST_CASE("The tightest limit of the groups around the process counts") {
  const TemporaryFolder root;
  put(root, "proc/meminfo", kMachine);
  put(root, "proc/self/cgroup", "1:name=systemd:/x\n0::/slice/job\n");
  put(root, "sys/fs/cgroup/slice/job/memory.max", "max\n");
  put(root, "sys/fs/cgroup/slice/job/memory.current", "100\n");
  CHECK(available_memory_bytes(root.path()) == 60 * 1024);

  put(root, "sys/fs/cgroup/slice/memory.max", "5000\n");
  put(root, "sys/fs/cgroup/slice/memory.current", "1000\n");
  CHECK(available_memory_bytes(root.path()) == 4000);

  put(root, "sys/fs/cgroup/slice/memory.current", "6000\n");
  CHECK(available_memory_bytes(root.path()) == 0);
}

TEST_CASE("This machine has memory left, and one that does not say so is an error") {
  CHECK(available_memory_bytes() > 0);
  const TemporaryFolder root;
  put(root, "proc/meminfo", "MemTotal: 100 kB\n");
  CHECK_THROWS_AS(available_memory_bytes(root.path()), SystemError);
}

}  // namespace scavenger
