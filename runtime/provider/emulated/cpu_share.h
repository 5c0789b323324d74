// A share of this machine's processors for a group of processes: a control group (cgroup) with a
// quota of CPU time, of version 1 or 2, whichever this machine has. Needs root.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace scavenger {

// The folder in which groups with CPU quotas can be made, empty where there is none.
std::filesystem::path cpu_share_root();

// Throws SystemError. The group `name` ("parent/child") gets `cores` in each period.
std::filesystem::path make_cpu_share(const std::string& name, double cores, double period_seconds);

// The processes that are in a group now, none where there is no such group.
std::vector<pid_t> processes_in(const std::filesystem::path& group);

// Kills what is in it.
void kill_all_in(const std::filesystem::path& group);

// Removes an empty group; false where there still is something in it.
bool remove_cpu_share(const std::filesystem::path& group);

}  // namespace scavenger
