#include "runtime/provider/ssh/ssh_connection.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/log.h"

namespace scavenger {
namespace {

constexpr const char* kFolderPrefix = "scavenger-ssh-";
// Not TMPDIR: a socket's path has at most 107 characters.
constexpr const char* kSocketsIn = "/tmp";
constexpr int kSocketLooks = 1000;
constexpr auto kSocketPause = std::chrono::milliseconds(20);

}  // namespace

SshConnection::SshConnection(asio::io_context& io, std::vector<std::string> words,
                             std::filesystem::path socket)
    : io_(io), words_(std::move(words)), socket_(std::move(socket)) {}

std::vector<std::string> SshConnection::options() const {
  return {"-o", "ControlMaster=no", "-o", "ControlPath=" + socket_.string()};
}

bool SshConnection::is_there() const {
  struct stat info {};
  return ::stat(socket_.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

awaitable<void> SshConnection::open() {
  if (!master_ || !master_->running()) {
    std::error_code error;
    std::filesystem::remove(socket_, error);  // of a connection that broke
    ChildProcess::Command command;
    command.program = "ssh";
    command.arguments = {"-N", "-T",
                         "-o", "ControlMaster=yes",
                         "-o", "ControlPersist=no",
                         "-o", "ControlPath=" + socket_.string()};
    command.arguments.insert(command.arguments.end(), words_.begin(), words_.end());
    command.log = socket_.string() + ".log";
    try {
      master_ = std::make_unique<ChildProcess>(io_, command, [](const ExitStatus&) {});
    } catch (const SystemError& failure) {
      log_warning("cannot start ssh: {}", failure.what());
      co_return;
    }
  }
  asio::steady_timer timer(io_);
  for (int i = 0; i < kSocketLooks && master_->running() && !is_there(); ++i) {
    timer.expires_after(kSocketPause);
    co_await timer.async_wait(use_awaitable);
  }
}

SshSocketFolder::SshSocketFolder() {
  std::string name = fmt::format("{}/{}{}-XXXXXX", kSocketsIn, kFolderPrefix, ::getpid());
  if (::mkdtemp(name.data()) == nullptr)
    throw SystemError(errno, {.what = "cannot make a folder for connections",
                              .where = kSocketsIn,
                              .remedy = "make it writable"});
  path_ = name;
}

SshSocketFolder::~SshSocketFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::vector<std::string> remove_abandoned_ssh_folders() {
  std::vector<std::string> removed;
  const std::string_view prefix = kFolderPrefix;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kSocketsIn, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t owner = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, wrong] = std::from_chars(name.data() + prefix.size(), end, owner);
    if (wrong != std::errc() || stop == end || *stop != '-' || owner <= 0) continue;
    if (::kill(owner, 0) == 0 || errno == EPERM) continue;
    if (std::filesystem::remove_all(entry.path(), error) > 0 && !error)
      removed.push_back("the folder " + entry.path().string());
  }
  return removed;
}

}  // namespace scavenger
