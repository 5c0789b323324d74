// What Slurm's programs print, in which their own warnings and those of a cluster's plugins may
// stand anywhere. Pure.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger {

// Of sbatch --parsable: the job's number. Nothing where there is none.
std::optional<std::string> submitted_slurm_job(std::string_view printed);

// Of squeue --format=%T for one job: PENDING, RUNNING, PREEMPTED, ...; empty where Slurm does not
// know it any more, "?" where it says something else.
std::string slurm_state(std::string_view printed);

// Of squeue --format=%N for one job: the name of its node. Nothing where there is none.
std::optional<std::string> slurm_node(std::string_view printed);

// Of scontrol --oneliner show node: what others reach it by. Nothing where it is not said.
std::optional<std::string> slurm_node_address(std::string_view printed);

struct NamedSlurmJob {
  std::string job;
  std::string name;  // may be anything, blanks included
};
// Of squeue "--format=%i %j".
std::vector<NamedSlurmJob> named_slurm_jobs(std::string_view printed);

// The process that a job is named after: "PREFIX1234". Nothing for another name.
std::optional<pid_t> owner_of_slurm_job(std::string_view name, std::string_view prefix);

}  // namespace scavenger
