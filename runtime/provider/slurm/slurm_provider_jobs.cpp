// The provider's part that submits jobs, sees their end coming, and cancels them.
#include <fmt/format.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/net/spawn.h"
#include "runtime/provider/slurm/slurm_commands.h"
#include "runtime/provider/slurm/slurm_provider.h"
#include "runtime/provider/slurm/slurm_text.h"

namespace scavenger {
namespace {

constexpr double kFollowSeconds = 0.1;  // between two looks at what the queue has told
constexpr double kSpareSeconds = 60.0;  // for which a replacement that nobody takes is kept

}  // namespace

SlurmProvider::JobPointer SlurmProvider::add_job(const SlurmKind& kind) {
  const JobPointer job = std::make_shared<SlurmJob>();
  job->kind = &kind;
  job->places = kind.workers_per_job;
  jobs_.push_back(job);
  return job;
}

awaitable<void> SlurmProvider::submit(JobPointer job) {
  ++submissions_;
  co_await submit_counted(job);
  --submissions_;
}

// Its refusal is kept for all who wait for this job.
awaitable<void> SlurmProvider::submit_counted(JobPointer job) {
  try {
    job->number =
        co_await submit_slurm_job(*job->kind, settings_.notice_seconds, slurm_job_name(::getpid()));
  } catch (const MachineRefused& refused) {
    job->refusal = refused.refusal();
  } catch (const Error& error) {  // for instance, no further process can be started
    job->refusal = Refusal{RefusalKind::kUnreachable, error.problem(), kSpareSeconds};
  }
  if (job->refusal) {
    if (job->workers.empty()) std::erase(jobs_, job);  // else they leave it one by one
    co_return;
  }
  if (std::exchange(job->is_dropped, false)) {  // while sbatch ran
    co_await drop(job);
    co_return;
  }
  queue_.follow(job->number);
  spawn(io(), attend(job));
}

// Follows a job to its end. Slurm itself sends SIGTERM to the workers before the time limit, or
// before a job with a higher priority takes the node; what is known here is known earlier.
awaitable<void> SlurmProvider::attend(JobPointer job) {
  double idle_seconds = 0.0;
  while (!job->is_dropped) {
    co_await rest(kFollowSeconds);
    if (job->is_dropped) co_return;
    const std::string state = queue_.state(job->number);
    if (state == "?") continue;
    if (is_running_in_slurm(state) && (!job->is_ours || !queue_.node(job->number).empty())) {
      if (!job->runs) {
        co_await note_start(job);
        if (job->is_dropped) co_return;
      }
      const auto left = queue_.seconds_left(job->number);
      if (left && job->is_ours) note_end_ahead(job, *left);
    } else if (job->runs || (job->is_spare && !is_queued_in_slurm(state))) {
      for (const MachineId id : std::set(job->workers))
        lose(id, {"was ended by Slurm: " + (state.empty() ? "the job is gone" : state)});
      if (job->workers.empty() || !job->is_ours) co_await drop(job);
      co_return;
    }
    const JobPointer earlier = job->replaces.lock();
    const bool is_idle = job->is_spare && (!earlier || earlier->is_dropped);
    idle_seconds = is_idle ? idle_seconds + kFollowSeconds : 0.0;
    if (idle_seconds > kSpareSeconds) co_await drop(job);
  }
}

// What its workers share is asked once, and before they go on.
awaitable<void> SlurmProvider::note_start(JobPointer job) {
  if (job->is_ours) job->node = queue_.node(job->number);
  job->whole_seconds = queue_.seconds_left(job->number).value_or(-1.0);
  job->runs_since = clock_.now_seconds();
  if (job->places > 1) job->gib_per_core = co_await slurm_gib_per_core(job->number);
  if (settings_.interface.empty() && !node_addresses_.contains(job->node)) {
    const std::string address = co_await slurm_address_of(job->node);
    node_addresses_[job->node] = address;
  }
  job->runs = true;
}

void SlurmProvider::note_end_ahead(const JobPointer& job, double seconds_left) {
  const SlurmEndStep step = slurm_end_step(*job, seconds_left, settings_);
  if (step.submits_replacement) {
    job->replacement = slurm_job_instead_of(*job, jobs_, clock_.now_seconds(), settings_);
    if (!job->replacement) add_replacement(job, seconds_left);
  }
  if (!step.tells_workers) return;
  job->has_notice = true;
  for (const MachineId id : std::set(job->workers))
    tell_notice(id, {seconds_left, fmt::format("Slurm job {} ends by its time limit in {:.0f} s",
                                               job->number, seconds_left)});
}

void SlurmProvider::add_replacement(const JobPointer& job, double seconds_left) {
  log_info("Slurm job {} ends in {:.0f} s: another one is submitted", job->number, seconds_left);
  job->replacement = add_job(*job->kind);
  job->replacement->is_spare = true;
  job->replacement->replaces = job;
  spawn(io(), submit_replacement(job));
}

void SlurmProvider::note_leaving(MachineId id) {
  if (const JobPointer job = job_of(id)) job->leaving.insert(id);
}

awaitable<void> SlurmProvider::submit_replacement(JobPointer job) {
  const JobPointer next = job->replacement;
  co_await submit(next);
  if (next->refusal)
    log_warning("no replacement for Slurm job {} can be submitted ahead of its end: {}",
                job->number, next->refusal->problem.what);
}

// One that sbatch has not answered yet is cancelled when it has.
awaitable<void> SlurmProvider::drop(JobPointer job) {
  if (std::exchange(job->is_dropped, true)) co_return;
  if (job->number.empty() && !job->refusal) co_return;
  queue_.forget(job->number);
  bool is_gone = true;
  if (job->is_ours && !job->refusal) is_gone = co_await cancel_slurm_job(job->number);
  if (is_gone) std::erase(jobs_, job);
}

}  // namespace scavenger
