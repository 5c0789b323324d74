#include "runtime/provider/slurm/slurm_job.h"

#include <algorithm>
#include <utility>

namespace scavenger {

bool SlurmJob::has_room() const {
  const bool ends_soon = has_notice || replacement || (is_ours && !leaving.empty());
  return workers.size() < places && !is_dropped && !refusal && !ends_soon;
}

std::uint32_t SlurmJob::staying_workers() const {
  if (has_notice) return 0;
  return static_cast<std::uint32_t>(
      std::ranges::count_if(workers, [this](MachineId id) { return !leaving.contains(id); }));
}

double slurm_replace_seconds(double replace_seconds, double whole_seconds) {
  return whole_seconds < 0.0 ? replace_seconds : std::min(replace_seconds, whole_seconds / 2.0);
}

double slurm_notice_seconds(double notice_seconds, double whole_seconds) {
  return whole_seconds < 0.0 ? notice_seconds : std::min(notice_seconds, whole_seconds / 4.0);
}

SlurmEndStep slurm_end_step(const SlurmJob& job, double seconds_left,
                            const SlurmSettings& settings) {
  SlurmEndStep step;
  if (job.staying_workers() == 0) return step;
  const double replace = slurm_replace_seconds(settings.replace_seconds, job.whole_seconds);
  const bool has_replacement = job.replacement && !job.replacement->is_dropped;
  step.submits_replacement = !has_replacement && seconds_left <= replace && seconds_left > 0.0;
  const bool is_replaced = has_replacement && job.replacement->runs;
  step.tells_workers = is_replaced || seconds_left <= slurm_notice_seconds(settings.notice_seconds,
                                                                           job.whole_seconds);
  return step;
}

std::shared_ptr<SlurmJob> slurm_job_instead_of(const SlurmJob& job, const SlurmJobs& jobs,
                                               double now_seconds, const SlurmSettings& settings) {
  const double late =
      now_seconds - slurm_replace_seconds(settings.replace_seconds, job.whole_seconds);
  const auto found = std::ranges::find_if(jobs, [&](const std::shared_ptr<SlurmJob>& other) {
    return other.get() != &job && other->kind == job.kind && other->has_room() &&
           (!other->runs || other->runs_since > late) &&
           other->places - other->workers.size() >= job.staying_workers();
  });
  return found == jobs.end() ? nullptr : *found;
}

std::shared_ptr<SlurmJob> slurm_job_with_room(const SlurmJobs& jobs, const SlurmKind& kind) {
  std::shared_ptr<SlurmJob> best;
  for (const auto& job : jobs) {
    if (job->kind != &kind || !job->has_room()) continue;
    const auto rank = [](const SlurmJob& one) { return std::pair(one.runs, one.is_spare); };
    if (!best || rank(*job) > rank(*best)) best = job;
  }
  return best;
}

SlurmKinds slurm_kinds_in_order(SlurmKinds kinds, const SlurmJobs& jobs) {
  std::ranges::stable_partition(kinds, [&](const SlurmKind* kind) {
    const auto job = slurm_job_with_room(jobs, *kind);
    return job && (job->runs || job->is_spare);
  });
  return kinds;
}

bool slurm_kind_is_used_up(const SlurmKind& kind, const SlurmJobs& jobs) {
  std::uint32_t used = 0;
  for (const auto& job : jobs)
    if (job->kind == &kind) used += job->staying_workers();
  return kind.machine.count > 0 && used >= kind.machine.count;
}

}  // namespace scavenger
