#include "campaign/task/command_guard.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace scavenger::campaign {
namespace {

constexpr int kCannotStart = 127;

// Asks a guard to end the command and all that it has started.
int end_signal() {
  return SIGRTMIN;
}

// The kernel gives this process the children of each descendant that ends, so that sooner or later
// all descendants are its children: also those that lead groups or sessions of their own.
void kill_descendants() {
  const std::string list = fmt::format("/proc/self/task/{}/children", ::getpid());
  for (;;) {
    std::ifstream children(list);
    if (!children) ::kill(0, SIGKILL);  // a kernel without such lists: the group, with this process
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
    if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGUSR1, end_signal()})
    ::sigaddset(&set, signal);
  return set;
}

// The programs beside this one are found like those of the system.
void find_own_programs() {
  const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const char* const path = std::getenv("PATH");
  ::setenv("PATH", (path == nullptr ? here : here + ":" + path).c_str(), 1);
}

[[noreturn]] void become(const std::string& folder, std::vector<std::string> words) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  find_own_programs();
  if (::chdir(folder.c_str()) == 0) ::execvp(arguments[0], arguments.data());
  std::cerr << "cannot start " << words[0] << ": " << std::strerror(errno) << std::endl;
  ::_exit(kCannotStart);
}

// Whether the command has ended. Others that have are orphans, which this process has inherited.
bool reap(pid_t command, int& status) {
  pid_t ended = 0;
  do ended = ::waitpid(-1, &status, WNOHANG);
  while (ended > 0 && ended != command);
  return ended == command;
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ChildProcess::Command guarded_command(const std::filesystem::path& program,
                                      const std::filesystem::path& folder,
                                      const std::vector<std::string>& words) {
  ChildProcess::Command command;
  command.program = program;
  command.arguments = {kGuardOption, std::to_string(::getpid()), folder.string()};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  command.end_signal = end_signal();
  return command;
}

int run_guarded(long parent_pid, const std::string& folder, const std::vector<std::string>& words) {
  const sigset_t watched = watched_signals();
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as a user's shell may leave it, it would never come
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, end_signal());
  if (::getppid() != parent_pid) return kCannotStart;  // it died before we asked
  const pid_t command = ::fork();
  if (command < 0) return kCannotStart;
  if (command == 0) become(folder, words);
  for (;;) {
    siginfo_t news{};
    const int signal = ::sigwaitinfo(&watched, &news);
    if (signal == end_signal()) {
      kill_descendants();
      return 128 + SIGKILL;
    }
    if (signal != SIGCHLD && signal > 0) ::kill(command, signal);
    int status = 0;
    if (!reap(command, status)) continue;
    kill_descendants();
    return code_of(status);
  }
}

}  // namespace scavenger::campaign
