#include "campaign/task/command_guard.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

namespace scavenger::campaign {
namespace {

constexpr int kCannotStart = 127;

[[noreturn]] void kill_group() {
  ::kill(0, SIGKILL);  // this process too
  ::_exit(1);
}

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGRTMIN}) ::sigaddset(&set, signal);
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

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_guarded(long parent_pid, const std::string& folder, const std::vector<std::string>& words) {
  const sigset_t watched = watched_signals();
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as a user's shell may leave it, it would never come
  ::prctl(PR_SET_PDEATHSIG, SIGRTMIN);
  if (::getppid() != parent_pid) return kCannotStart;  // it died before we asked
  const pid_t command = ::fork();
  if (command < 0) return kCannotStart;
  if (command == 0) become(folder, words);
  for (;;) {
    siginfo_t news{};
    const int signal = ::sigwaitinfo(&watched, &news);
    if (signal == SIGRTMIN) kill_group();
    if (signal != SIGCHLD && signal > 0) ::kill(command, signal);
    int status = 0;
    if (::waitpid(command, &status, WNOHANG) == command) return code_of(status);
  }
}

}  // namespace scavenger::campaign
