// Runs a program to its end, as a shell would: ip, ssh, sbatch.
#pragma once

#include <string>
#include <vector>

#include "runtime/net/asio.h"
#include "runtime/process/child_process.h"

namespace scavenger {

struct CommandResult {
  ExitStatus status;
  bool is_late = false;  // it took too long and was killed
  std::string output;    // the first kCommandOutputLimitBytes of standard output and error

  bool succeeded() const { return !is_late && status.code == 0 && status.signal == 0; }
  std::string last_line() const;
  // Returns, for instance, "exit code 3: " and the last line.
  std::string failure() const;
};

inline constexpr std::size_t kCommandOutputLimitBytes = 1 << 20;

// Runs a program. It is killed if the coroutine is destroyed before it ends. Throws SystemError if
// it cannot be started.
awaitable<CommandResult> run_command(std::vector<std::string> words, std::string input,
                                     double limit_seconds);

}  // namespace scavenger
