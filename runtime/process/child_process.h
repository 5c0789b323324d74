// Starts and watches a process on this machine.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/net/asio.h"

namespace scavenger {

// How a process ended.
struct ExitStatus {
  int code = 0;              // valid if signal is 0
  int signal = 0;            // the signal that killed the process, or 0
  std::string text() const;  // "exit code 3", "killed by signal 9 (Killed)"
};

inline constexpr int kInheritedFile = 3;

// A child process, which leads a process group of its own. When it has ended, the rest of its group
// is killed, so that no process that a plug-in has forked outlives the job.
//
// Thread: the io_context's. The destructor ends the process if it still runs, and waits for its
// end.
class ChildProcess final {
 public:
  struct Command {
    std::filesystem::path program;       // searched in PATH if it contains no slash
    std::vector<std::string> arguments;  // without the program's name
    std::string standard_input;          // followed by end of file
    std::filesystem::path log;           // standard output and error are appended to it
    int inherited_file = -1;             // becomes kInheritedFile in the child, unless negative
    // Asks the process to end at once, as the destructor does; SIGKILL follows if it does not.
    int end_signal = SIGKILL;
  };

  // Starts the process. `ended` is called once, on the io_context. Throws SystemError, which names
  // the program.
  ChildProcess(asio::io_context& io, const Command& command, std::function<void(ExitStatus)> ended);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return running_; }
  void signal(int number);  // no effect if the process has ended

 private:
  void watch();
  void reap();
  void end_group();

  pid_t pid_ = -1;
  bool running_ = false;
  int end_signal_;
  std::function<void(ExitStatus)> ended_;
  // The handler of the exit event may already be queued when this object is destroyed.
  std::shared_ptr<bool> watching_ = std::make_shared<bool>(true);
  std::unique_ptr<asio::posix::stream_descriptor>
      exit_event_;  // a pidfd: readable when the process has ended
};

// Asks the kernel to kill this process when its parent dies, so that `kill -9` of a controller
// leaves no orphan. Processes that it forks are killed when the thread that forked them ends. Call
// it first in main().
void die_with_parent();

// Returns the last lines of a log file, at most `limit_bytes`, for an error message. What is before
// `begin` is another process's.
std::string log_tail(const std::filesystem::path& log, std::size_t limit_bytes,
                     std::uintmax_t begin = 0);

}  // namespace scavenger
