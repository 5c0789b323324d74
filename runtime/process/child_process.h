// A process on this machine that we started and watch.
#pragma once

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
  int code = 0;              // where signal is 0
  int signal = 0;            // the signal that killed it
  std::string text() const;  // "exit code 3", "killed by signal 9 (Killed)"
};

inline constexpr int kInheritedFile = 3;

// It leads a process group of its own. Whatever of that it leaves behind is killed when it has
// ended, so that nothing that a plug-in has forked outlives the job.
//
// Thread: the io_context's. The destructor kills a process that still runs, and waits for its end.
class ChildProcess final {
 public:
  struct Command {
    std::filesystem::path program;       // looked for in PATH where it has no slash
    std::vector<std::string> arguments;  // without the program's name
    std::string standard_input;          // then end of file
    std::filesystem::path log;           // standard output and error, appended
    int inherited_file = -1;             // becomes kInheritedFile there, unless negative
  };

  // Starts it. Throws SystemError naming the program. `ended` is called once, on the io_context.
  ChildProcess(asio::io_context& io, const Command& command, std::function<void(ExitStatus)> ended);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool running() const { return running_; }
  void signal(int number);  // nothing happens where it has ended

 private:
  void watch();
  void reap();
  void end_group();

  pid_t pid_ = -1;
  bool running_ = false;
  std::function<void(ExitStatus)> ended_;
  // The exit event's handler may be in the queue already when we are destroyed.
  std::shared_ptr<bool> watching_ = std::make_shared<bool>(true);
  std::unique_ptr<asio::posix::stream_descriptor>
      exit_event_;  // a pidfd: readable when the process has ended
};

// Asks the kernel to kill this process when its parent dies, so that `kill -9` of a controller
// leaves no orphan. So is whatever it forks, when the thread that forked it ends. Call first thing
// in main().
void die_with_parent();

// The last lines of a log file, at most `limit_bytes`, for an error message.
std::string log_tail(const std::filesystem::path& log, std::size_t limit_bytes);

}  // namespace scavenger
