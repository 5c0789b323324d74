#include "runtime/collective/gloo_threads.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace scavenger {
namespace {

// Gloo's own name for the thread of its event loop, which looks at the clock every 10 ms.
constexpr std::string_view kLoopName = "gloo_tcp_loop";
// A first look may have begun before the connections were cut.
constexpr std::uint64_t kLooksOfLoop = 3;

// Returns what follows `key` and white space on a line of its own; empty if there is none.
std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key)) {
      const std::size_t begin = line.find_first_not_of(" \t", key.size());
      return begin == std::string_view::npos ? std::string_view{} : line.substr(begin);
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

pid_t number_of(std::string_view text) {
  pid_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::set<pid_t> ids_of(const ThreadStatuses& threads) {
  std::set<pid_t> ids;
  for (const auto& [id, status] : threads) ids.insert(id);
  return ids;
}

}  // namespace

ThreadStatus parse_thread_status(std::string_view text) {
  ThreadStatus status;
  status.name = value_of(text, "Name:");
  status.sleeps = value_of(text, "State:").starts_with('S');
  const std::string_view slept = value_of(text, "voluntary_ctxt_switches:");
  std::from_chars(slept.data(), slept.data() + slept.size(), status.times_slept);
  return status;
}

ThreadStatuses threads_of_process() {
  ThreadStatuses threads;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(folder.path() / "status");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // A thread that has just ended has none.
    if (!text.empty())
      threads[number_of(folder.path().filename().native())] = parse_thread_status(text);
  }
  return threads;
}

GlooThreads::GlooThreads() : others_(ids_of(threads_of_process())) {}

void GlooThreads::take_started() {
  for (const pid_t id : ids_of(threads_of_process()))
    if (!others_.contains(id)) threads_.insert(id);
}

bool GlooThreads::rested(const ThreadStatuses& earlier, const ThreadStatuses& later) const {
  bool has_loop_gone_round = false;
  for (const pid_t id : threads_) {
    const auto now = later.find(id);
    if (now == later.end()) continue;  // it has ended
    const auto before = earlier.find(id);
    if (before == earlier.end() || !now->second.sleeps) return false;
    const std::uint64_t slept = now->second.times_slept - before->second.times_slept;
    if (now->second.name == kLoopName)
      has_loop_gone_round = slept >= kLooksOfLoop;
    else if (!before->second.sleeps || slept != 0)
      return false;
  }
  return has_loop_gone_round;
}

}  // namespace scavenger
