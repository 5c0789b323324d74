// The text log of a process: lines on standard error, written for people and parsed by no program.
//
//   2026-11-21T08:35:08.123Z info  worker 1: joined the job  pid=4711
//
// Levels: an error needs somebody to act; a warning is unexpected, but handled; info is a change of
// state; debug lines come with every iteration. Thread-safe. Pure code does not log: it returns
// what happened, and its caller logs that.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace scavenger {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Sets the name of this process in each line ("controller", "shard 0", "worker 3") and the lowest
// level that is written. Call it once, at the start of the process.
void start_log(const std::string& role, LogLevel lowest);

void log_line(LogLevel level, const std::string& text);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace scavenger
