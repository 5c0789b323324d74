#include "runtime/provider/slurm/slurm_queue.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/net/spawn.h"
#include "runtime/process/command.h"
#include "runtime/provider/slurm/slurm_words.h"

namespace scavenger {
namespace {

constexpr double kLookLimitSeconds = 60.0;     // one squeue
constexpr double kSoonestSeconds = 0.5;        // for a job that was just submitted
constexpr double kLatestQueuedSeconds = 15.0;  // for one that has waited for minutes
constexpr double kRunningSeconds = 5.0;        // if all run: a worker's connection tells sooner

}  // namespace

double slurm_look_seconds(double waited_seconds) {
  if (waited_seconds < 0.0) return kRunningSeconds;
  return std::clamp(waited_seconds / 10.0, kSoonestSeconds, kLatestQueuedSeconds);
}

void SlurmQueue::follow(const std::string& job) {
  jobs_[job] = {.since = clock_.now_seconds()};
  wake_.cancel();
  if (std::exchange(is_watching_, true)) return;
  spawn(io_, watch());
}

void SlurmQueue::forget(const std::string& job) {
  jobs_.erase(job);
  if (jobs_.empty()) wake_.cancel();
}

std::string SlurmQueue::state(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? std::string() : found->second.seen.state;
}

std::string SlurmQueue::node(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? std::string() : found->second.seen.node;
}

std::optional<double> SlurmQueue::seconds_left(const std::string& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !is_running_in_slurm(found->second.seen.state) ||
      !found->second.seen.seconds_left)
    return std::nullopt;
  return *found->second.seen.seconds_left - (clock_.now_seconds() - found->second.seen_at);
}

double SlurmQueue::next_seconds() const {
  double youngest = -1.0;
  for (const auto& [job, entry] : jobs_) {
    if (is_running_in_slurm(entry.seen.state)) continue;
    const double waited_seconds = clock_.now_seconds() - entry.since;
    youngest = youngest < 0.0 ? waited_seconds : std::min(youngest, waited_seconds);
  }
  return slurm_look_seconds(youngest);
}

awaitable<void> SlurmQueue::watch() {
  while (!jobs_.empty()) {
    wake_.expires_after(std::chrono::microseconds(static_cast<long>(next_seconds() * 1e6)));
    const auto quietly = asio::as_tuple(use_awaitable);
    const auto [woken] = co_await wake_.async_wait(quietly);
    if (woken) continue;  // a new job: it may be looked at sooner
    co_await look();
  }
  is_watching_ = false;
}

awaitable<void> SlurmQueue::look() {
  std::string list;
  std::vector<std::string> asked;
  for (const auto& [job, entry] : jobs_) {
    list += (list.empty() ? "" : ",") + job;
    asked.push_back(job);
  }
  ++looks_;
  const double asked_at = clock_.now_seconds();
  std::vector<std::string> words = {"squeue", "--noheader", "--states=all", "--jobs=" + list,
                                    "--format=%i %T %L %N"};
  words = outside_slurm_job(std::move(words));
  std::optional<CommandResult> result;
  try {
    result = co_await run_command(std::move(words), std::string(), kLookLimitSeconds);
  } catch (const SystemError& error) {  // for instance, no further process can be started
    log_warning("cannot ask Slurm for its jobs: {}", error.what());
  }
  if (!result) co_return;
  const bool is_forgotten = result->output.find("Invalid job id") != std::string::npos;
  if (!result->succeeded() && !is_forgotten) co_return;
  const std::map<std::string, SlurmJobState> seen = slurm_job_states(result->output);
  for (const std::string& job : asked) {
    const auto entry = jobs_.find(job);
    if (entry == jobs_.end()) continue;
    const auto found = seen.find(job);
    entry->second.seen = found == seen.end() ? SlurmJobState() : found->second;
    entry->second.seen_at = asked_at;
  }
}

}  // namespace scavenger
