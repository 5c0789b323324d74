#include "runtime/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

extern char** environ;

namespace scavenger {
namespace {

ExitStatus status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {.code = 0, .signal = WTERMSIG(wait_status)};
  return {.code = WEXITSTATUS(wait_status), .signal = 0};
}

// posix_spawn's plan for the child's files: input from a file, output to the log, nothing else
// inherited.
class SpawnPlan final {
 public:
  SpawnPlan(int standard_input, const std::filesystem::path& log, int inherited_file) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, standard_input, 0);
    posix_spawn_file_actions_addopen(&actions_, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0644);
    posix_spawn_file_actions_adddup2(&actions_, 1, 2);
    // Our own file may have any number, also that one: onto itself, it only loses close-on-exec.
    if (inherited_file >= 0)
      posix_spawn_file_actions_adddup2(&actions_, inherited_file, kInheritedFile);
    posix_spawn_file_actions_addclosefrom_np(&actions_,
                                             kInheritedFile + (inherited_file < 0 ? 0 : 1));
    // A process group of its own: Ctrl-C on the terminal reaches the controller only, which ends us
    // in order.
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  pid_t spawn(const ChildProcess::Command& command) {
    std::vector<std::string> words = {command.program.string()};
    words.insert(words.end(), command.arguments.begin(), command.arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    const int error =
        posix_spawn(&pid, command.program.c_str(), &actions_, &attributes_, argv.data(), environ);
    if (error != 0)
      throw SystemError(error,
                        {.what = "cannot start", .where = command.program.string(), .remedy = {}});
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// A file in memory, without a name, that holds `content`. A pipe would hold 64 KiB, and then wait
// for a reader that is not there yet.
FileDescriptor unnamed_file(const std::string& content) {
  FileDescriptor file(::memfd_create("standard input", MFD_CLOEXEC));
  std::size_t written = 0;
  while (file.get() >= 0 && written < content.size()) {
    const auto count = ::write(file.get(), content.data() + written, content.size() - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  if (written < content.size() || ::lseek(file.get(), 0, SEEK_SET) != 0)
    throw SystemError(errno,
                      {.what = "cannot make a process's input", .where = "memory", .remedy = {}});
  return file;
}

}  // namespace

std::string ExitStatus::text() const {
  if (signal != 0) return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
  return fmt::format("exit code {}", code);
}

ChildProcess::ChildProcess(asio::io_context& io, const Command& command,
                           std::function<void(ExitStatus)> ended)
    : ended_(std::move(ended)) {
  const FileDescriptor input = unnamed_file(command.standard_input);
  SpawnPlan plan(input.get(), command.log, command.inherited_file);
  pid_ = plan.spawn(command);
  running_ = true;
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (pidfd < 0) {
    const int error = errno;
    signal(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    throw SystemError(error, {.what = "cannot watch a child process",
                              .where = "pidfd_open",
                              .remedy = "Linux 5.3 or newer is needed"});
  }
  exit_event_ = std::make_unique<asio::posix::stream_descriptor>(io, pidfd);
  exit_event_->async_wait(asio::posix::stream_descriptor::wait_read,
                          [this, watching = watching_](const boost::system::error_code& error) {
                            if (!error && *watching) reap();
                          });
}

ChildProcess::~ChildProcess() {
  *watching_ = false;
  if (!running_) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ChildProcess::signal(int number) {
  if (running_) ::kill(pid_, number);
}

void ChildProcess::reap() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  running_ = false;
  if (ended_) std::exchange(ended_, nullptr)(status_of(status));
}

void die_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

std::string log_tail(const std::filesystem::path& log, std::size_t limit_bytes) {
  std::string text;
  try {
    text = read_file(log);
  } catch (const SystemError&) {
    return "";
  }
  if (text.size() > limit_bytes) {
    text.erase(0, text.size() - limit_bytes);
    text.erase(0, text.find('\n') + 1);
  }
  return text;
}

}  // namespace scavenger
