#include "runtime/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
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

namespace scavenger {
namespace {

constexpr int kEndMilliseconds = 2000;  // for a process that is to end by itself

ExitStatus status_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {.code = 0, .signal = WTERMSIG(wait_status)};
  return {.code = WEXITSTATUS(wait_status), .signal = 0};
}

// Starts a child. It is forked rather than spawned, so that it dies with its parent from the first
// moment: it could not ask for that itself while its libraries are being loaded.
class Launch final {
 public:
  Launch(const ChildProcess::Command& command, int standard_input)
      : program_(command.program.string()),
        log_(command.log.string()),
        standard_input_(standard_input),
        inherited_file_(command.inherited_file) {
    words_ = command.arguments;
    words_.insert(words_.begin(), program_);
    for (std::string& word : words_) argv_.push_back(word.data());
    argv_.push_back(nullptr);
  }

  pid_t start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(errno);
    const FileDescriptor news(ends[0]);
    FileDescriptor low_end(ends[1]);
    // Its number is above those that the child keeps.
    FileDescriptor trouble(::fcntl(low_end.get(), F_DUPFD_CLOEXEC, kInheritedFile + 1));
    low_end = FileDescriptor();
    const pid_t parent = ::getpid();
    const pid_t pid = trouble.get() < 0 ? -1 : ::fork();
    if (pid == 0) become(parent, trouble.get());
    const int fork_error = errno;
    trouble = FileDescriptor();
    if (pid < 0) fail(fork_error);
    // The pipe is closed when the program has begun. A child that is stopped before sends nothing,
    // and is treated like one that is stopped later.
    constexpr int kBeginMilliseconds = 1000;
    pollfd waiting{.fd = news.get(), .events = POLLIN, .revents = 0};
    int error = 0;
    if (::poll(&waiting, 1, kBeginMilliseconds) <= 0) return pid;
    if (::read(news.get(), &error, sizeof(error)) != sizeof(error)) return pid;
    ::waitpid(pid, nullptr, 0);
    fail(error);
  }

 private:
  [[noreturn]] void fail(int error) const {
    throw SystemError(error, {.what = "cannot start", .where = program_, .remedy = {}});
  }

  // Only system calls are allowed here, since locks of other threads may be held for ever in the
  // forked process.
  [[noreturn]] void become(pid_t parent, int trouble) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // With a process group of its own, Ctrl-C on the terminal reaches only the controller, which
    // ends this process in order.
    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (take_files(trouble)) ::execvp(program_.c_str(), argv_.data());
    const int error = errno;
    [[maybe_unused]] const auto told = ::write(trouble, &error, sizeof(error));
    ::_exit(127);
  }

  // Input comes from a file, output goes to the log; no other file is inherited.
  bool take_files(int trouble) const {
    const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (log < 0 || !put(standard_input_, 0) || !put(log, 1) || !put(1, 2)) return false;
    if (inherited_file_ >= 0 && !put(inherited_file_, kInheritedFile)) return false;
    const auto first = static_cast<unsigned>(kInheritedFile + (inherited_file_ < 0 ? 0 : 1));
    const auto kept = static_cast<unsigned>(trouble);
    if (first < kept) ::close_range(first, kept - 1, 0);
    if (::close_range(kept + 1, ~0U, 0) == 0) return true;
    const long limit = ::sysconf(_SC_OPEN_MAX);  // before Linux 5.9
    for (int file = static_cast<int>(first); file < limit; ++file)
      if (file != trouble) ::close(file);
    return true;
  }

  // If the file already has that number, it only loses close-on-exec.
  static bool put(int file, int number) {
    return file == number ? ::fcntl(file, F_SETFD, 0) == 0 : ::dup2(file, number) == number;
  }

  const std::string program_;
  const std::string log_;
  const int standard_input_;
  const int inherited_file_;
  std::vector<std::string> words_;
  std::vector<char*> argv_;
};

// If the parent ignored SIGCHLD, which programs inherit, the kernel would throw away how children
// end, and this process would wait for them for ever.
void keep_ends_of_children() {
  struct sigaction now {};
  if (::sigaction(SIGCHLD, nullptr, &now) == 0 && now.sa_handler == SIG_IGN)
    ::signal(SIGCHLD, SIG_DFL);
}

// Returns an unnamed file in memory that contains `content`. A pipe would accept 64 KiB and then
// block, since there is no reader yet.
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
    : end_signal_(command.end_signal), ended_(std::move(ended)) {
  const FileDescriptor input = unnamed_file(command.standard_input);
  keep_ends_of_children();
  pid_ = Launch(command, input.get()).start();
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
  watch();
}

void ChildProcess::watch() {
  exit_event_->async_wait(asio::posix::stream_descriptor::wait_read,
                          [this, watching = watching_](const boost::system::error_code& error) {
                            if (!error && *watching) reap();
                          });
}

ChildProcess::~ChildProcess() {
  *watching_ = false;
  if (!running_) return;
  signal(end_signal_);
  signal(SIGCONT);  // one that is stopped could not end by itself
  pollfd waiting{.fd = exit_event_->native_handle(), .events = POLLIN, .revents = 0};
  if (end_signal_ != SIGKILL && ::poll(&waiting, 1, kEndMilliseconds) <= 0) signal(SIGKILL);
  siginfo_t end;
  ::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOWAIT);
  end_group();
  ::waitpid(pid_, nullptr, 0);
}

// The group's number cannot be reused before the process has been waited for, so this cannot kill
// another group.
void ChildProcess::end_group() {
  ::kill(-pid_, SIGKILL);
}

void ChildProcess::signal(int number) {
  if (running_) ::kill(pid_, number);
}

void ChildProcess::reap() {
  siginfo_t end{};
  // The event may belong to an earlier process whose closed pidfd had the same number.
  ::waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOHANG | WNOWAIT);
  if (end.si_pid == 0) return watch();
  end_group();
  int status = 0;
  ::waitpid(pid_, &status, 0);
  running_ = false;
  if (ended_) std::exchange(ended_, nullptr)(status_of(status));
}

void die_with_parent() {
  const auto ask = [] { ::prctl(PR_SET_PDEATHSIG, SIGKILL); };
  ask();
  ::pthread_atfork(nullptr, nullptr, ask);  // a forked child does not inherit the request
}

std::string log_tail(const std::filesystem::path& log, std::size_t limit_bytes,
                     std::uintmax_t begin) {
  std::string text;
  try {
    text = read_file(log, UINT64_MAX);
  } catch (const SystemError&) {
    return "";
  }
  if (begin <= text.size()) text.erase(0, begin);  // else somebody has emptied it meanwhile
  if (text.size() > limit_bytes) {
    text.erase(0, text.size() - limit_bytes);
    text.erase(0, text.find('\n') + 1);
  }
  return text;
}

}  // namespace scavenger
