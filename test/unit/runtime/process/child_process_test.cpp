#include "runtime/process/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <optional>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;

namespace {

ChildProcess::Command shell(const std::string& script, const TemporaryFolder& folder) {
  return {"/bin/sh", {"-c", script}, "", folder.path() / "child.log"};
}

ExitStatus run_to_its_end(const ChildProcess::Command& command) {
  asio::io_context io;
  std::optional<ExitStatus> status;
  ChildProcess child(io, command, [&status](const ExitStatus& how) { status = how; });
  io.run_for(std::chrono::minutes(1));
  REQUIRE(status);
  CHECK_FALSE(child.running());
  return *status;
}

std::string log_of(const ChildProcess::Command& command) {
  run_to_its_end(command);
  return read_file(command.log);
}

std::size_t open_files() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += entry.path().empty() ? 0 : 1;
  return count;
}

bool has_children() {
  return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

}  // namespace

TEST_CASE("a process's exit code is reported") {
  const TemporaryFolder folder;

  const ExitStatus good = run_to_its_end(shell("exit 0", folder));
  const ExitStatus bad = run_to_its_end(shell("exit 3", folder));

  CHECK(good.code == 0);
  CHECK(bad.code == 3);
  CHECK(bad.signal == 0);
  CHECK(bad.text() == "exit code 3");
}

TEST_CASE("the signal that killed a process is reported") {
  const TemporaryFolder folder;

  const ExitStatus status = run_to_its_end(shell("kill -9 $$", folder));

  CHECK(status.signal == SIGKILL);
  CHECK(status.text() == "killed by signal 9 (Killed)");
}

TEST_CASE("the end of a process is seen, also if this one was started with SIGCHLD ignored") {
  const TemporaryFolder folder;
  ::signal(SIGCHLD, SIG_IGN);

  CHECK(run_to_its_end(shell("exit 3", folder)).code == 3);

  ::signal(SIGCHLD, SIG_DFL);
}

TEST_CASE("a process can be signalled while it runs; afterwards nothing happens") {
  const TemporaryFolder folder;
  asio::io_context io;
  std::optional<ExitStatus> status;
  ChildProcess child(io, shell("exec sleep 100", folder),
                     [&status](const ExitStatus& how) { status = how; });

  child.signal(SIGTERM);
  io.run_for(std::chrono::minutes(1));

  REQUIRE(status);
  CHECK(status->signal == SIGTERM);
  CHECK_NOTHROW(child.signal(SIGKILL));
}

TEST_CASE("what a process writes, to output and errors, is appended to its log") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "child.log") << "before\n";

  CHECK(log_of(shell("echo out; echo err >&2", folder)) == "before\nout\nerr\n");
}

TEST_CASE("a process reads its input, and then finds the end") {
  const TemporaryFolder folder;
  ChildProcess::Command command{"/bin/cat", {}, "a ticket\n", folder.path() / "child.log"};

  CHECK(log_of(command) == "a ticket\n");
}

TEST_CASE("an input of any length starts a process, longer than a pipe holds, too") {
  const TemporaryFolder folder;
  const std::string long_input(1 << 20, 'x');
  ChildProcess::Command command{"/bin/cat", {}, long_input, folder.path() / "child.log"};

  CHECK(log_of(command) == long_input);
}

TEST_CASE("a process inherits no open file but its input, output and errors") {
  const TemporaryFolder folder;
  const FileDescriptor secret(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC

  CHECK(log_of(shell("ls /proc/self/fd | tr '\\n' ' '", folder)) == "0 1 2 3 ");  // 3: of ls
}

TEST_CASE("a program that is not there is named") {
  const TemporaryFolder folder;
  asio::io_context io;
  const ChildProcess::Command command{folder.path() / "no-program", {}, "", folder.path() / "log"};

  CHECK_THROWS_WITH(ChildProcess(io, command, nullptr), Catch::Contains("no-program"));
}

TEST_CASE("dropping a process that runs kills it and leaves no zombie") {
  const TemporaryFolder folder;
  pid_t pid = -1;
  {
    asio::io_context io;
    ChildProcess child(io, shell("exec sleep 100", folder), nullptr);
    pid = child.pid();
    CHECK(::kill(pid, 0) == 0);
  }

  CHECK(::kill(pid, 0) == -1);
  CHECK(errno == ESRCH);
}

TEST_CASE("a process may be dropped by what is called at its end, or before that is called") {
  const TemporaryFolder folder;
  asio::io_context io;
  std::unique_ptr<ChildProcess> child;
  int calls = 0;
  child = std::make_unique<ChildProcess>(io, shell("exit 0", folder), [&](const ExitStatus&) {
    ++calls;
    child.reset();
  });
  io.run_for(std::chrono::minutes(1));
  auto unheard = std::make_unique<ChildProcess>(io, shell("exit 0", folder),
                                                [&](const ExitStatus&) { ++calls; });
  unheard.reset();
  io.restart();
  io.run_for(std::chrono::minutes(1));

  CHECK(calls == 1);
}

TEST_CASE("neither files nor zombies are left of many processes") {
  const TemporaryFolder folder;
  run_to_its_end(shell("exit 0", folder));  // what is made once is made now
  const std::size_t before = open_files();

  for (int i = 0; i < 20; ++i) {
    run_to_its_end(shell("exit 1", folder));
    asio::io_context io;
    const ChildProcess dropped(io, shell("exec sleep 100", folder), nullptr);
    CHECK_THROWS_AS(ChildProcess(io, {"/no/program", {}, "", folder.path() / "log"}, nullptr),
                    SystemError);
  }

  CHECK(open_files() == before);
  CHECK_FALSE(has_children());
}

TEST_CASE("the tail of a log begins with a whole line") {
  const TemporaryFolder folder;
  const auto log = folder.path() / "log";
  std::ofstream(log) << "first line\nsecond line\nthird line\n";

  CHECK(log_tail(log, 1000) == "first line\nsecond line\nthird line\n");
  CHECK(log_tail(log, 15) == "third line\n");
  CHECK(log_tail(log, 1000, 11) == "second line\nthird line\n");
  CHECK(log_tail(log, 15, 11) == "third line\n");
  CHECK(log_tail(log, 1000, 34).empty());
  CHECK(log_tail(log, 15, 99) == "third line\n");  // somebody has emptied it meanwhile
  CHECK(log_tail(folder.path() / "none", 15).empty());
}

namespace {

// Gone, or dead and not waited for yet by whoever took it over.
bool has_ended(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return true;
  return line.substr(line.rfind(')') + 2, 1) == "Z";
}

pid_t pid_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  pid_t pid = 0;
  stream >> pid;
  REQUIRE(pid > 0);
  return pid;
}

bool ends_soon(pid_t pid) {
  for (int tries = 0; tries < 1000 && !has_ended(pid); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return has_ended(pid);
}

}  // namespace

TEST_CASE("what a process has forked and left behind ends with it") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "pid";

  run_to_its_end(shell("sleep 1000 & echo $! > " + file, folder));

  CHECK(ends_soon(pid_in(file)));
}

TEST_CASE("what a process has forked ends when the process is destroyed") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "pid";
  asio::io_context io;
  {
    ChildProcess child(io, shell("sleep 1000 & echo $! > " + file + "; sleep 1000", folder), {});
    while (!std::filesystem::exists(file) || std::filesystem::file_size(file) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  CHECK(ends_soon(pid_in(file)));
}

TEST_CASE("a fork of a process that dies with its parent dies with that process") {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "pid";
  const pid_t parent = ::fork();
  if (parent == 0) {  // as a worker that a plug-in forks in, and that is killed
    die_with_parent();
    if (const pid_t forked = ::fork(); forked > 0) {
      std::ofstream(file + ".new") << forked << std::flush;
      std::filesystem::rename(file + ".new", file);
    }
    for (;;) ::pause();
  }
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const pid_t forked = pid_in(file);

  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);

  CHECK(ends_soon(forked));
}

TEST_CASE("the tail of a log without line ends is as long as asked for") {
  const TemporaryFolder folder;
  const auto log = folder.path() / "log";
  std::ofstream(log) << std::string(1000, 'x');

  CHECK(log_tail(log, 15) == std::string(15, 'x'));
}
