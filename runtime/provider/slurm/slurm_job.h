// A job of Slurm as the provider knows it, and the decisions about its places and its end. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/provider/machine.h"
#include "runtime/provider/slurm/slurm_settings.h"

namespace scavenger {

// The places of one job on one node.
struct SlurmJob {
  const SlurmKind* kind = nullptr;
  std::uint32_t places = 1;
  std::string number;         // empty: sbatch has not answered yet
  std::string node;           // empty: not known yet
  double gib_per_core = 0.0;  // of memory, if several workers share it; 0: Slurm gives out none
  std::set<MachineId> workers;
  std::set<MachineId> leaving;     // workers in whose place others were asked for
  std::optional<Refusal> refusal;  // sbatch's
  bool is_ours = true;             // false: the job that this process runs in
  bool runs = false;
  bool has_notice = false;  // its workers were told that it ends
  bool is_dropped = false;  // cancelled, or about to be
  // The time that it had when it was seen running first. Negative: no limit, or not known.
  double whole_seconds = -1.0;
  double runs_since = 0.0;                     // on the provider's clock
  std::shared_ptr<SlurmJob> replacement = {};  // for its workers, submitted before it ends
  bool is_spare = false;                       // a replacement that no worker has taken yet
  std::weak_ptr<SlurmJob> replaces = {};

  bool has_room() const;
  std::uint32_t staying_workers() const;  // that do not leave
};

using SlurmJobs = std::vector<std::shared_ptr<SlurmJob>>;
using SlurmKinds = std::vector<const SlurmKind*>;

// Returns how long before the end of a job that had `whole_seconds` its replacement is submitted.
// At most half of that, because short jobs would be replaced all the time.
double slurm_replace_seconds(double replace_seconds, double whole_seconds);
// The same for the notice to its workers, at most a quarter: first the replacement is submitted.
double slurm_notice_seconds(double notice_seconds, double whole_seconds);

// What is to be done for the workers of a job that ends in so many seconds. First the replacement
// is submitted. When that runs, or if it does not run in time, they are told to leave. A job of
// which all workers leave already needs neither: others were asked for in their places.
struct SlurmEndStep {
  bool submits_replacement = false;
  bool tells_workers = false;
};
SlurmEndStep slurm_end_step(const SlurmJob& job, double seconds_left,
                            const SlurmSettings& settings);

// Returns a job that has places for all workers that stay in `job`, so that no replacement has to
// be submitted: one that waits, or began so lately that it does not end about when `job` does.
// Another worker may have caused it, who left by Slurm's signal a moment before the end was seen to
// come. Null: there is none.
std::shared_ptr<SlurmJob> slurm_job_instead_of(const SlurmJob& job, const SlurmJobs& jobs,
                                               double now_seconds, const SlurmSettings& settings);

// Returns the job of this kind in which a further worker is placed: one that runs before one that
// waits, and then a replacement, because it is cancelled if nobody takes it. Null: a new job.
std::shared_ptr<SlurmJob> slurm_job_with_room(const SlurmJobs& jobs, const SlurmKind& kind);

// Puts those kinds first that need no new job: a job that runs, or a replacement, has room.
SlurmKinds slurm_kinds_in_order(SlurmKinds kinds, const SlurmJobs& jobs);

// Whether no further worker of this kind is allowed. Workers that leave do not count.
bool slurm_kind_is_used_up(const SlurmKind& kind, const SlurmJobs& jobs);

}  // namespace scavenger
