// The record of a run: the event log, what it adds up to, the report, and what people see of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "elastic/coordinator/job/run_folder.h"
#include "elastic/events/event_log.h"
#include "elastic/history/iteration_condenser.h"
#include "elastic/history/run_summary.h"
#include "elastic/report/progress_display.h"
#include "runtime/base/clock.h"
#include "runtime/process/run_lock.h"

namespace scavenger::elastic {

// Where people look on. The stream must outlive the record.
struct Display {
  std::ostream& output;
  int file_descriptor = 1;
  ProgressStyle style = ProgressStyle::kLines;
};

// One thread.
class JobRecord final {
 public:
  // Goes on with the log that is there. Throws InputError if another process works on the
  // folder.
  JobRecord(RunFolder folder, const Clock& clock, const Display& display);

  // Call once, before anything is logged: takes the numbers of the job's earlier processes, and
  // shows their events.
  void recall(const std::function<void(const RunEvent&)>& show);
  // Returns it as a reader of the log will see it, whose decisions are to be the same.
  LoggedEvent log(RunEvent event);
  // For those who look on; the log does not have it.
  void tell(const std::string& text) { progress_.show_note(text); }
  // Takes iterations, and returns what is to be logged of them now (IterationCondenser). At a
  // boundary what waits is to be logged, too, and at the end of a membership all of it.
  enum class Until { kLater, kBoundary, kEndOfMembership };
  std::vector<RunEvent> condense(std::optional<fact::Iterations> series, Until until);
  // The report is replaced; training goes on if that fails.
  bool write_report();
  void show_tick();
  // `has_report`: of the job's end.
  void show_end(bool has_report);
  // Nobody can read it any more, since somebody has removed it.
  bool log_is_removed() const { return events_.is_removed(); }
  void sync() { events_.sync(); }

  double now() const { return events_.now(); }  // seconds of the job's life
  double time_before() const { return events_.time_before(); }
  std::uint64_t bytes_cut() const { return events_.bytes_cut(); }
  const RunNumbers& numbers() const { return summary_.numbers(); }

 private:
  bool is_left_out(const RunEvent& event) const;
  void tell_what_was_left_out();
  LoggedEvent write(RunEvent event);

  const RunFolder folder_;
  const RunLock lock_;
  EventLogWriter events_;
  IterationCondenser condenser_;
  std::uint64_t left_out_ = 0;  // events, since that was told
  std::string log_problem_;     // why the event log is behind, once it was said
  RunSummary summary_;
  ProgressDisplay progress_;
};

}  // namespace scavenger::elastic
