#include "elastic/coordinator/job/finished_job.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "elastic/events/event_log.h"
#include "elastic/history/run_summary.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/config/metric.h"

namespace scavenger::elastic {
namespace {

// More than an `end` event ever has.
constexpr std::size_t kTailBytes = std::size_t{64} << 10;

// Looked at alone, since reading all of a log takes its time. Empty where a kill tore the last line
// apart, or it is long.
std::string last_line(const std::filesystem::path& path) {
  const FileDescriptor file = open_regular_file(path);
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::string tail(std::min<std::size_t>(kTailBytes, static_cast<std::size_t>(size)), '\0');
  const ssize_t count =
      ::pread(file.get(), tail.data(), tail.size(), size - static_cast<off_t>(tail.size()));
  if (count != static_cast<ssize_t>(tail.size()) || !tail.ends_with('\n')) return {};
  tail.pop_back();
  const std::size_t newline = tail.rfind('\n');
  return newline == std::string::npos ? std::string() : tail.substr(newline + 1);
}

bool is_reached(const RunNumbers& numbers, const std::optional<TargetConfig>& target) {
  if (!target || !numbers.target_reached) return false;
  const fact::TargetReached& reached = numbers.target_reached->fact;
  if (reached.metric != target->metric || reached.split != target->split) return false;
  return is_better_when_high(target->metric) ? reached.value >= target->value
                                             : reached.value <= target->value;
}

}  // namespace

bool is_finished(const RunNumbers& numbers, const StopConfig& stop) {
  if (!numbers.status) return false;
  const fact::Limits& limits = numbers.start.limits;
  switch (*numbers.status) {
    case Status::kTargetReached:
      return is_reached(numbers, stop.target);
    case Status::kMaxEpochs:
      return stop.max_epochs > 0.0 && stop.max_epochs <= limits.max_epochs;
    case Status::kMaxIterations:
      return stop.max_iterations > 0 && stop.max_iterations <= numbers.iterations;
    case Status::kEarlyStopping:
      return stop.early_stopping.has_value();
    case Status::kMaxTime:
      return stop.max_seconds > 0.0 && stop.max_seconds <= numbers.seconds;
    case Status::kMaxCost:
      return stop.max_cost > 0.0 && stop.max_cost <= limits.max_cost;
    case Status::kInterrupted:
    case Status::kFailed:
      return false;
  }
  return false;
}

std::optional<RunNumbers> numbers_of_ended_job(const std::filesystem::path& event_log) {
  std::error_code error;
  if (!std::filesystem::exists(event_log, error)) return std::nullopt;
  const std::string last = last_line(event_log);
  if (last.empty()) return std::nullopt;
  const LoggedEvent logged = from_json_line(last, event_log.string());
  const auto* const end = std::get_if<fact::End>(&logged.event);
  if (end == nullptr || end->status == Status::kFailed || end->status == Status::kInterrupted)
    return std::nullopt;
  RunSummary summary;
  EventLogReader log(event_log);
  while (const auto next = log.next()) summary.apply(*next);
  return summary.numbers();
}

}  // namespace scavenger::elastic
