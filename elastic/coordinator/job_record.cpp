#include "elastic/coordinator/job_record.h"

#include <utility>
#include <variant>

#include "elastic/report/json_report.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

namespace scavenger::elastic {

JobRecord::JobRecord(RunFolder folder, const Clock& clock, const Display& display)
    : folder_(std::move(folder)),
      lock_(folder_.path),
      events_(folder_.events(), clock),
      progress_(
          display.output, clock, display.style,
          [file = display.file_descriptor] { return terminal_width(file); },
          [file = display.file_descriptor] { return can_write_now(file); }) {}

void JobRecord::recall(const std::function<void(const RunEvent&)>& show) {
  if (events_.time_before() <= 0.0) return;
  EventLogReader earlier(folder_.events());
  while (const auto logged = earlier.next()) {
    summary_.apply(*logged);
    show(logged->event);
  }
}

LoggedEvent JobRecord::log(RunEvent event) {
  LoggedEvent logged = events_.append(std::move(event));
  if (events_.problem() != log_problem_) {
    log_problem_ = events_.problem();
    progress_.clear();
    if (!log_problem_.empty()) log_error("{}", log_problem_);
  }
  summary_.apply(logged);
  progress_.show_event(logged, summary_.numbers());
  if (std::holds_alternative<fact::Iterations>(logged.event))
    if (const auto settled = summary_.numbers().noise.news()) log(*settled);
  return logged;
}

void JobRecord::show_end(bool has_report) {
  progress_.show_end(summary_.numbers(), {folder_.path.string(), has_report});
}

bool JobRecord::write_report() {
  try {
    write_json_report(folder_.report(), summary_.numbers());
    return true;
  } catch (const SystemError& error) {  // training is worth more than its report
    log(fact::Warning{error.what()});
    return false;
  }
}

}  // namespace scavenger::elastic
