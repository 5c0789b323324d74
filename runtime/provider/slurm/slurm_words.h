// The command lines of Slurm's programs. Pure, except for outside_slurm_job().
#pragma once

#include <string>
#include <vector>

#include "runtime/provider/slurm/slurm_settings.h"

namespace scavenger {

using Words = std::vector<std::string>;

// sbatch for a job of this kind. Its script only waits; each worker is a step of the job.
Words slurm_submit_words(const SlurmKind& kind, double notice_seconds, const std::string& name);

// srun for one worker in job `job`, on `node` if that is not empty. `shares_node`: other workers of
// the job may be on the same node, so this one takes exactly its own part of it. The words of the
// site follow, and then the worker's command.
Words slurm_step_words(const SlurmSettings& settings, const SlurmKind& kind, const std::string& job,
                       const std::string& node, bool shares_node);

// Returns `words` behind those that hide a Slurm job around this process from a program of Slurm:
// it would take that job's tasks, memory and nodes for what it is asked for. `environment`: as
// `environ`, "NAME=value".
Words outside_slurm_job(Words words, const Words& environment);
Words outside_slurm_job(Words words);

}  // namespace scavenger
