#include "elastic/events/event_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

// Far above any line that we write; keeps a file that is no event log from filling the memory.
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

[[noreturn]] void fail(const char* action, const std::filesystem::path& path) {
  throw SystemError(errno, {.what = std::string("cannot ") + action + " the event log",
                            .where = path.string(),
                            .remedy = {}});
}

// A pipe would take what is written, keep nothing, and stop the job once it is full.
FileDescriptor open_for_writing(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored))
    throw SystemError({.what = "is a pipe and not a regular file, so no event would stay in it",
                       .where = path.string(),
                       .remedy = "remove it"});
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0) fail("open", path);
  return file;
}

}  // namespace

EventLogWriter::EventLogWriter(const std::filesystem::path& path, const Clock& clock)
    : path_(path),
      clock_(clock),
      file_(open_for_writing(path)),
      clock_origin_(clock.now_seconds()) {
  adopt_existing_content();
}

void EventLogWriter::adopt_existing_content() {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) fail("read the size of", path_);
  const auto size_found = static_cast<std::uint64_t>(status.st_size);
  if (size_found == 0) return;
  const MappedFile content(path_);
  const std::string_view text(reinterpret_cast<const char*>(content.bytes().data()),
                              content.bytes().size());
  const std::size_t last_newline = text.rfind('\n');
  const std::size_t size = last_newline == std::string_view::npos ? 0 : last_newline + 1;
  bytes_cut_ = size_found - size;
  if (size > 0) {
    const std::size_t newline_before = text.substr(0, last_newline).rfind('\n');
    const std::size_t begin = newline_before == std::string_view::npos ? 0 : newline_before + 1;
    const auto line_number =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n');
    time_before_ = from_json_line(text.substr(begin, last_newline - begin),
                                  path_.string() + ":" + std::to_string(line_number))
                       .time;
    last_time_ = time_before_;
  }
  budget_ = LogBudget(time_before_, static_cast<double>(size));
  if (bytes_cut_ > 0 && ::ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
    fail("cut a torn line off", path_);
}

double EventLogWriter::now() const {
  const double seconds = time_before_ + clock_.now_seconds() - clock_origin_;
  return std::max(last_time_, std::round(seconds * 1e6) / 1e6);
}

LoggedEvent EventLogWriter::append(RunEvent event) {
  LoggedEvent logged{.time = now(), .event = std::move(event)};
  last_time_ = logged.time;
  const bool has_room = waiting_.size() <= kMaxWaitingBytes;
  const bool is_rounded = is_measurement(logged.event);
  const std::string line = to_json_line(logged);
  budget_.spend(static_cast<double>(line.size() + 1), logged.time);
  if (has_room || !is_rounded) waiting_ += line + "\n";
  write_waiting();
  // Decisions that are made from it must be those that a replay makes.
  return is_rounded ? from_json_line(line, path_.string()) : logged;
}

void EventLogWriter::write_waiting() {
  while (!waiting_.empty()) {
    const ssize_t written = ::write(file_.get(), waiting_.data(), waiting_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      set_problem("write to");
      return;
    }
    waiting_.erase(0, static_cast<std::size_t>(written));
  }
  problem_.clear();
}

bool EventLogWriter::is_removed() const {
  struct stat status {};
  return ::fstat(file_.get(), &status) == 0 && status.st_nlink == 0;
}

void EventLogWriter::sync() {
  write_waiting();
  if (waiting_.empty() && ::fsync(file_.get()) != 0) set_problem("force to disk");
}

void EventLogWriter::set_problem(const char* action) {
  const int cause = errno;
  problem_ = path_.string() + ": cannot " + action + " the event log: " + std::strerror(cause);
}

EventLogReader::EventLogReader(const std::filesystem::path& path)
    : path_(path), file_(open_regular_file(path)) {}

std::optional<LoggedEvent> EventLogReader::next() {
  for (;;) {
    const std::size_t newline = buffer_.find('\n', searched_);
    if (newline != std::string::npos) {
      const std::string_view text = std::string_view(buffer_).substr(begin_, newline - begin_);
      begin_ = searched_ = newline + 1;
      ++line_;
      return from_json_line(text, path_.string() + ":" + std::to_string(line_));
    }
    searched_ = buffer_.size();
    if (buffer_.size() - begin_ > kMaxLineBytes)
      throw InputError({.what = "a line is too long for an event",
                        .where = path_.string() + ":" + std::to_string(line_ + 1),
                        .remedy = "give the events.jsonl of a run"});
    if (!read_more()) return std::nullopt;
  }
}

bool EventLogReader::read_more() {
  constexpr std::size_t kReadBytes = 1 << 18;
  buffer_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  const std::size_t size_before = buffer_.size();
  buffer_.resize(size_before + kReadBytes);
  ssize_t count = 0;
  do {
    count = ::read(file_.get(), buffer_.data() + size_before, kReadBytes);
  } while (count < 0 && errno == EINTR);
  buffer_.resize(size_before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0) fail("read", path_);
  return count > 0;
}

}  // namespace scavenger::elastic
