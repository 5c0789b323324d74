#include "elastic/coordinator/job/job_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "elastic/report/json_report.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

namespace scavenger::elastic {
namespace {

// Where the log has room for less than this, warnings and the like are counted only.
constexpr double kWarningBytes = 0.5 * LogBudget::kReservedBytes;

}  // namespace

JobRecord::JobRecord(RunFolder folder, const Clock& clock, const Display& display)
    : folder_(std::move(folder)),
      lock_(folder_.path),
      events_(folder_.events(), clock),
      condenser_(events_.budget()),
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
  if (is_left_out(event)) {  // people see it all the same
    ++left_out_;
    LoggedEvent shown{events_.now(), std::move(event)};
    progress_.show_event(shown, summary_.numbers());
    return shown;
  }
  if (std::holds_alternative<fact::End>(event)) tell_what_was_left_out();
  return write(std::move(event));
}

// What can come again and again while nothing is decided by it, once it would fill the log.
bool JobRecord::is_left_out(const RunEvent& event) const {
  const auto* machine = std::get_if<fact::Machine>(&event);
  const bool can_be = std::holds_alternative<fact::Warning>(event) ||
                      std::holds_alternative<fact::CheckpointFailed>(event) ||
                      std::holds_alternative<fact::CheckpointDamaged>(event) ||
                      (machine != nullptr && machine->change == fact::MachineChange::kRefused);
  return can_be && events_.budget().available(events_.now()) < kWarningBytes;
}

void JobRecord::tell_what_was_left_out() {
  if (left_out_ == 0 || events_.budget().available(events_.now()) < kWarningBytes) return;
  write(
      fact::Warning{fmt::format("{} warnings, refusals or failures are not in the log, which "
                                "would have grown by more than {:g} MB an hour",
                                std::exchange(left_out_, 0), LogBudget::kBytesPerHour / 1e6)});
}

LoggedEvent JobRecord::write(RunEvent event) {
  if (auto* lost = std::get_if<fact::ProcessLost>(&event);
      lost != nullptr && events_.budget().available(events_.now()) < kWarningBytes)
    lost->log_tail = "(left out: the log grows too fast)";
  const bool begins = std::holds_alternative<fact::Membership>(event);
  LoggedEvent logged = events_.append(std::move(event));
  if (events_.problem() != log_problem_) {
    log_problem_ = events_.problem();
    progress_.clear();
    if (!log_problem_.empty()) log_error("{}", log_problem_);
  }
  if (begins) condenser_.begin();
  summary_.apply(logged);
  progress_.show_event(logged, summary_.numbers());
  if (is_measurement(logged.event))
    if (const auto settled = summary_.numbers().noise.news()) write(*settled);
  return logged;
}

std::vector<RunEvent> JobRecord::condense(std::optional<fact::Iterations> series, Until until) {
  std::vector<RunEvent> events;
  if (series) events = condenser_.add(std::move(*series), summary_.numbers(), events_.now());
  const double now = events_.now();
  if (until == Until::kBoundary)
    std::ranges::move(condenser_.take(now), std::back_inserter(events));
  if (until == Until::kEndOfMembership)
    std::ranges::move(condenser_.close(now), std::back_inserter(events));
  return events;
}

void JobRecord::show_tick() {
  tell_what_was_left_out();
  progress_.tick(summary_.numbers());
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
