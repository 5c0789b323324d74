#include "runtime/collective/gloo_threads.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "runtime/base/text.h"

namespace scavenger {
namespace {

// Gloo's own name for the thread of its event loop, which looks at the clock every 10 ms.
constexpr std::string_view kLoopName = "gloo_tcp_loop";
// A first look may have begun before the connections were cut.
constexpr std::uint64_t kLooksOfLoop = 3;

std::set<pid_t> ids_of(const ThreadStatuses& threads) {
  std::set<pid_t> ids;
  for (const auto& [id, status] : threads) ids.insert(id);
  return ids;
}

}  // namespace

ThreadStatus parse_thread_status(std::string_view text) {
  const auto value = [text](std::string_view key) { return rest_of_line(text, key).value_or(""); };
  return {.name = std::string(value("Name:")),
          .sleeps = value("State:").starts_with('S'),
          .times_slept = leading_number(value("voluntary_ctxt_switches:")).value_or(0)};
}

ThreadStatuses threads_of_process() {
  ThreadStatuses threads;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(folder.path() / "status");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto id = leading_number(folder.path().filename().native());
    // A thread that has just ended has no text.
    if (id && !text.empty()) threads[static_cast<pid_t>(*id)] = parse_thread_status(text);
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
