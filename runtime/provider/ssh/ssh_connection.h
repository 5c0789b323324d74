// One connection to a host that all commands there share (ssh's ControlMaster), so that many
// workers start at the price of one handshake, and hosts that limit new connections (MaxStartups)
// take them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/net/asio.h"
#include "runtime/process/child_process.h"

namespace scavenger {

// Thread: the io_context's. The connection ends with this object, or with the process.
class SshConnection final {
 public:
  // `words`: options of ssh, and last the destination. `socket`: where the connection is offered to
  // the commands; its folder must exist, and be this user's alone.
  SshConnection(asio::io_context& io, std::vector<std::string> words, std::filesystem::path socket);

  // Returns the options of ssh with which a command uses the connection. If there is none, or the
  // host takes no more sessions of one (MaxSessions), the command makes its own.
  std::vector<std::string> options() const;

  // Returns when there is a connection, or when it is clear that there will be none: a command then
  // tells why.
  awaitable<void> open();

 private:
  bool is_there() const;

  asio::io_context& io_;
  const std::vector<std::string> words_;
  const std::filesystem::path socket_;
  std::unique_ptr<ChildProcess> master_;
};

// A folder of this user for the sockets of one process. The destructor removes it.
class SshSocketFolder final {
 public:
  SshSocketFolder();  // throws SystemError
  ~SshSocketFolder();
  SshSocketFolder(const SshSocketFolder&) = delete;
  SshSocketFolder& operator=(const SshSocketFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Removes the folders of processes that have ended, and returns which.
std::vector<std::string> remove_abandoned_ssh_folders();

}  // namespace scavenger
