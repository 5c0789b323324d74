// Parses the output of Slurm's programs, which may contain warnings of Slurm or of a cluster's
// plugins anywhere. Pure.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger {

// Output of `sbatch --parsable`: returns the job's number; nothing if there is none.
std::optional<std::string> submitted_slurm_job(std::string_view printed);

struct SlurmJobState {
  std::string state;  // PENDING, RUNNING, PREEMPTED, ...
  std::string node;   // its name; empty: none yet
};
// Output of `squeue "--format=%i %T %N"`: by the job's number. Any other line is passed over.
std::map<std::string, SlurmJobState> slurm_job_states(std::string_view printed);

// Output of `scontrol --oneliner show node`: returns the address of the node; nothing if it is
// missing.
std::optional<std::string> slurm_node_address(std::string_view printed);

struct NamedSlurmJob {
  std::string job;
  std::string name;  // any text, including blanks
};
// Output of `squeue "--format=%i %j"`.
std::vector<NamedSlurmJob> named_slurm_jobs(std::string_view printed);

// Returns the process id in a job's name "PREFIX1234"; nothing for any other name.
std::optional<pid_t> owner_of_slurm_job(std::string_view name, std::string_view prefix);

}  // namespace scavenger
