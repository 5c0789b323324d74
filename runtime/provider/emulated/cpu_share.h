// A share of this machine's processors for a group of processes: a control group (cgroup) with a
// quota of CPU time, of version 1 or 2 as this machine has it. Requires root.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace scavenger {

// Returns the folder in which groups with CPU quotas can be made; empty if there is none.
std::filesystem::path cpu_share_root();

// Makes the group `name` ("parent/child") with a quota of `cores` in each period, and returns its
// folder. Throws SystemError.
std::filesystem::path make_cpu_share(const std::string& name, double cores, double period_seconds);

// Returns the processes that are in a group now; none if there is no such group.
std::vector<pid_t> processes_in(const std::filesystem::path& group);

// Kills the processes in the group.
void kill_all_in(const std::filesystem::path& group);

// Removes an empty group. Returns false if it is not empty.
bool remove_cpu_share(const std::filesystem::path& group);

}  // namespace scavenger
