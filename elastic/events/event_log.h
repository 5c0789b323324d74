// events.jsonl: the append-only log of a run's events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "elastic/events/event.h"
#include "elastic/events/log_budget.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"

namespace scavenger::elastic {

// Appends events, each with one write(): what was appended survives a kill of this process at any
// instant, and a reader never sees two lines mixed. Who writes holds the run's lock, so that there
// is one at a time. A full disk stops no training: lines wait in memory until there is room again,
// and problem() says so. One thread.
class EventLogWriter final {
 public:
  // While more waits than this, further `iterations` and `iteration_block` events are dropped,
  // which are measurements only; all others are kept.
  static constexpr std::size_t kMaxWaitingBytes = std::size_t{16} << 20;

  // Creates the file, or goes on with an existing one; a last line that a kill tore apart is cut
  // off. The clock must outlive the writer. Throws InputError if its last
  // line is not an event; SystemError, also if the file is a pipe.
  EventLogWriter(const std::filesystem::path& path, const Clock& clock);

  // Seconds of the job's life in earlier processes: the time of the last event that was there.
  double time_before() const { return time_before_; }
  // How long the torn last line was that was cut off; 0 if there was none.
  std::uint64_t bytes_cut() const { return bytes_cut_; }

  // Seconds of the job's life until now, as append() would stamp them.
  double now() const;

  // Stamps the event with the job's time, writes it, and returns it as a reader of the log will see
  // it: measured series are rounded.
  LoggedEvent append(RunEvent event);

  // The file that is written to has no name any more: somebody has removed it.
  bool is_removed() const;
  // What may still be written before the log grows faster than it should.
  const LogBudget& budget() const { return budget_; }

  // Tries again to write what waits, and forces all to disk: against a power cut, which kills do
  // not need.
  void sync();

  // Why the log is behind: "cannot write to the event log: No space left on device". Empty while
  // everything is in the file.
  const std::string& problem() const { return problem_; }

 private:
  void adopt_existing_content();
  void write_waiting();
  void set_problem(const char* action);

  std::filesystem::path path_;
  const Clock& clock_;
  FileDescriptor file_;
  std::string waiting_;  // may begin within a line, whose first part is in the file
  std::string problem_;
  std::uint64_t bytes_cut_ = 0;
  double time_before_ = 0.0;
  double clock_origin_ = 0.0;
  double last_time_ = 0.0;
  LogBudget budget_;
};

// Streams the events of a log of any size; may follow one that is still written.
class EventLogReader final {
 public:
  // Throws SystemError if there is no file, or it is not a regular one: nobody waits for a pipe.
  explicit EventLogReader(const std::filesystem::path& path);

  // The next event; nothing at the end of the file, or if the last line has no newline (yet).
  // Call again later to follow a growing log. Throws InputError that names file and line.
  std::optional<LoggedEvent> next();

  // Of the event that next() returned last; the first line is 1.
  std::uint64_t line() const { return line_; }
  // After next() found no more: bytes after the last newline, left by a kill or being written now.
  std::uint64_t torn_bytes() const { return buffer_.size() - begin_; }

 private:
  bool read_more();

  std::filesystem::path path_;
  FileDescriptor file_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line, in the buffer
  std::size_t searched_ = 0;  // up to here the buffer holds no newline after begin_
  std::uint64_t line_ = 0;
};

}  // namespace scavenger::elastic
