// Runs a simulation's command in its folder, and leaves nothing of it behind.
//
// The guard is a process of its own, the leader of the command's process group. If the process that
// has started it dies, however it dies, the guard kills all that the command has started: what a
// shell has started does not stay, which the kernel's own signal for orphans would not reach, nor
// do processes that have left the group, as those of timeout(1) and setsid(1).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/process/child_process.h"

namespace scavenger::campaign {

inline constexpr const char* kGuardOption = "--guard";

// What starts the guard of a command. `program`: scavenger-task, which understands kGuardOption.
// Whoever destroys its ChildProcess ends all that the command has started.
ChildProcess::Command guarded_command(const std::filesystem::path& program,
                                      const std::filesystem::path& folder,
                                      const std::vector<std::string>& words);

// Requires that this process leads its process group. `parent_pid`: of the process that has started
// it. Signals that this process gets go to the command. Returns the command's exit code, 128 and
// its signal if it was killed, or 127 if it could not be started. What it leaves behind is killed.
int run_guarded(long parent_pid, const std::string& folder, const std::vector<std::string>& words);

}  // namespace scavenger::campaign
