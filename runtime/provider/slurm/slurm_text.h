// Parses the output of Slurm's programs, which may contain warnings of Slurm or of a cluster's
// plugins anywhere. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger {

// Output of `sbatch --parsable`: returns the job's number; nothing if there is none.
std::optional<std::string> submitted_slurm_job(std::string_view printed);

struct SlurmJobState {
  std::string state;                        // PENDING, RUNNING, PREEMPTED, ...
  std::string node = {};                    // its name; empty: none yet
  std::optional<double> seconds_left = {};  // to its time limit; nothing: none, or unknown
};
// Output of `squeue "--format=%i %T %L %N"`: by the job's number. Any other line is passed over.
std::map<std::string, SlurmJobState> slurm_job_states(std::string_view printed);

// Whether a job in this state has its nodes, and may go on using them. Slurm names what happens to
// such a job at the moment in place of RUNNING, such as SIGNALING.
bool is_running_in_slurm(std::string_view state);
// Whether it may get them.
bool is_queued_in_slurm(std::string_view state);

// Output of `scontrol --oneliner show node`: returns the address of the node; nothing if it is
// missing.
std::optional<std::string> slurm_node_address(std::string_view printed);

// A span as Slurm prints it, "days-hours:minutes:seconds" or the end of that; nothing for words
// such as UNLIMITED.
std::optional<double> slurm_seconds(std::string_view text);

// Output of `scontrol --oneliner show job`: returns what each processor has of the memory that the
// job was given; nothing if this cluster does not hand out memory.
std::optional<double> slurm_memory_gib_per_core(std::string_view printed);

// SLURM_JOB_CPUS_PER_NODE, such as "8(x2),4": returns the processors of each node of a job; empty
// if it cannot be read.
std::vector<std::uint32_t> slurm_cores_per_node(std::string_view text);

// Output of `scontrol show hostnames`, or of `sinfo --Node --format=%N`: one name a line.
std::vector<std::string> slurm_node_names(std::string_view printed);

// Output of `ip -oneline address show dev NAME`: returns the address at which others reach it, one
// of IPv4 first; nothing if it has none.
std::optional<std::string> interface_address(std::string_view printed);

// Returns what a step's command printed, without srun's own line about how the command ended, which
// comes before or after it.
std::string step_output(std::string_view printed);

struct NamedSlurmJob {
  std::string job;
  std::string name;  // any text, including blanks
};
// Output of `squeue "--format=%i %j"`.
std::vector<NamedSlurmJob> named_slurm_jobs(std::string_view printed);

// Returns the process id in a job's name "PREFIX1234"; nothing for any other name.
std::optional<pid_t> owner_of_slurm_job(std::string_view name, std::string_view prefix);

}  // namespace scavenger
