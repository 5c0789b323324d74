#include "runtime/base/memory.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

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

// Sanitisers have an allocator of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("Memory that was freed is there again without the kernel") {
  keep_freed_memory();
  const auto page_faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  // Together more than what the C library keeps by itself once it has seen blocks of this size.
  const auto use_36_mebibytes = [] {
    constexpr std::size_t kNumbers = (std::size_t{12} << 20) / sizeof(std::size_t);
    const std::vector<std::size_t> first(kNumbers), second(kNumbers), third(kNumbers);
    return first.back() + second.back() + third.back();
  };
  volatile std::size_t zeros = use_36_mebibytes();

  const long before = page_faults();
  for (int i = 0; i < 10; ++i) zeros = use_36_mebibytes();

  CHECK(page_faults() - before < 9216);  // which is the pages of one of them
  CHECK(zeros == 0);
}
#endif

}  // namespace scavenger
