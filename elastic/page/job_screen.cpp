#include "elastic/page/job_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "elastic/report/progress_text.h"
#include "elastic/report/quantity_text.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

constexpr std::size_t kMostWorkers = 16;
constexpr std::size_t kMostMemberships = 5;

std::string mean_text(const SeriesStatistics& series) {
  return series.moments().count() > 0 ? format_brief_seconds(series.moments().mean()) : "-";
}

std::vector<std::string> worker_lines(const PhaseNumbers& phase) {
  std::vector<std::string> lines = {fmt::format("  {:<8}{:>8}{:>10}{:>10}{:>10}{:>15}{:>12}",
                                                "worker", "samples", "data", "forward", "backward",
                                                "exposed sync", "for slower")};
  const std::size_t count = std::min(phase.workers.size(), kMostWorkers);
  for (std::size_t rank = 0; rank < count; ++rank) {
    const WorkerNumbers& worker = phase.workers[rank];
    lines.push_back(
        fmt::format("  {:<8}{:>8}{:>10}{:>10}{:>10}{:>15}{:>12}", phase.membership.indices[rank],
                    worker.share, mean_text(worker.data_wait_seconds),
                    mean_text(worker.forward_seconds), mean_text(worker.backward_seconds),
                    mean_text(worker.sync_wait_seconds), mean_text(worker.straggler_wait_seconds)));
  }
  if (phase.workers.size() > count)
    lines.push_back(fmt::format("  and {} more", phase.workers.size() - count));
  return lines;
}

std::vector<std::string> membership_lines(const RunNumbers& numbers) {
  std::vector<std::string> lines = {fmt::format("  {:<6}{:>8}{:>12}{:>14}{:>12}  {}", "K", "B",
                                                "iterations", "an iteration", "cost", "why")};
  const std::size_t count = numbers.phases.size();
  for (std::size_t i = count - std::min(count, kMostMemberships); i < count; ++i) {
    const PhaseNumbers& phase = numbers.phases[i];
    lines.push_back(fmt::format("  {:<6}{:>8}{:>12}{:>14}{:>12}  {}", phase.membership.workers,
                                phase.membership.batch_size, format_count(phase.iterations),
                                mean_text(phase.iteration_seconds), format_dollars(phase.cost),
                                printable(phase.membership.reason)));
  }
  return lines;
}

// The latest last, as many as there is room for.
std::vector<std::string> note_lines(const RunHistory& history, std::size_t room) {
  std::vector<std::string> lines;
  const auto& notes = history.notes().latest;
  for (auto note = notes.rbegin(); note != notes.rend() && lines.size() < room; ++note) {
    const std::string first = note->text.substr(0, note->text.find('\n'));
    lines.push_back(fmt::format("  {:>12}  {}", format_duration(note->time), first));
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace

std::vector<std::string> job_screen(const RunHistory& history, const std::string& state,
                                    double seconds, ScreenSize size) {
  const RunNumbers& numbers = history.numbers();
  const StatusText status = status_text(numbers, history.pace(), seconds);
  std::vector<std::string> lines = {printable(numbers.start.name) + "  " +
                                    (state.empty() ? "does not answer" : printable(state))};
  if (numbers.status) lines = {end_line(numbers)};
  for (const std::string& part :
       {status.progress, status.quality, status.speed, status.effort, status.outlook})
    if (!part.empty()) lines.push_back("  " + part);
  const auto append = [&](std::vector<std::string> more) {
    lines.emplace_back();
    std::move(more.begin(), more.end(), std::back_inserter(lines));
  };
  if (!numbers.phases.empty()) {
    append(worker_lines(numbers.phases.back()));
    append(membership_lines(numbers));
  }
  if (lines.size() + 2 < size.rows) append(note_lines(history, size.rows - lines.size() - 2));
  if (lines.size() + 1 > size.rows) lines.resize(std::max<std::size_t>(size.rows, 2) - 1);
  for (std::string& line : lines) line = fit_to_width(line, size.columns);
  return lines;
}

}  // namespace scavenger::elastic
