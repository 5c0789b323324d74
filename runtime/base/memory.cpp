#include "runtime/base/memory.h"

#include <malloc.h>

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

// Returns nothing if there is no such file, or if it contains "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  return fs::exists(file) ? leading_number(read_file(file)) : std::nullopt;
}

// The limit of a group also holds for the groups within it.
std::uint64_t least_room(const fs::path& root, fs::path group) {
  std::uint64_t least = UINT64_MAX;
  for (;; group = group.parent_path()) {
    const fs::path folder = root / "sys/fs/cgroup" / group.relative_path();
    const auto limit = number_in(folder / "memory.max");
    const auto used = number_in(folder / "memory.current");
    if (limit && used) least = std::min(least, *limit - std::min(*limit, *used));
    if (!group.has_relative_path()) return least;
  }
}

}  // namespace

std::uint64_t available_memory_bytes(const std::filesystem::path& root) {
  const std::string facts = read_file(root / "proc/meminfo");
  const auto line = rest_of_line(facts, "MemAvailable:");
  const auto kibibytes = line ? leading_number(*line) : std::nullopt;
  if (!kibibytes)
    throw SystemError({.what = "the machine does not say how much memory it has left",
                       .where = (root / "proc/meminfo").string(),
                       .remedy = "set compute.micro_batch"});
  const fs::path membership = root / "proc/self/cgroup";
  const std::string groups = fs::exists(membership) ? read_file(membership) : "";
  const auto group = rest_of_line(groups, "0::");
  return std::min(*kibibytes * 1024, group ? least_room(root, std::string(*group)) : UINT64_MAX);
}

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kNever = 1 << 30;               // bytes
  constexpr int kMostOfOldVersions = 32 << 20;  // that they accept; what is larger goes back
  if (mallopt(M_MMAP_THRESHOLD, kNever) == 0) mallopt(M_MMAP_THRESHOLD, kMostOfOldVersions);
  mallopt(M_TRIM_THRESHOLD, kNever);
#endif
}

}  // namespace scavenger
