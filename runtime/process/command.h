// A program that is run for what it does or prints, as a shell would: ip, ssh, sbatch.
#pragma once

#include <string>
#include <vector>

#include "runtime/net/asio.h"
#include "runtime/process/child_process.h"

namespace scavenger {

struct CommandResult {
  ExitStatus status;
  bool is_late = false;  // it was killed, since it took too long
  std::string output;    // standard output and error, at most kCommandOutputLimitBytes of each end

  bool succeeded() const { return !is_late && status.code == 0 && status.signal == 0; }
  std::string last_line() const;
  // "exit code 3: its last line"
  std::string failure() const;
};

inline constexpr std::size_t kCommandOutputLimitBytes = 1 << 20;

// Runs a program, which is killed where the coroutine is destroyed before. Throws SystemError
// where it cannot be started.
awaitable<CommandResult> run_command(std::vector<std::string> words, std::string input,
                                     double limit_seconds);

// One word of a shell's command, whatever characters it has.
std::string shell_quoted(const std::string& word);

}  // namespace scavenger
