// A running job's ear: RUN/control.sock, which only the job's owner can open. Each line is a
// command in JSON, and is answered by one line.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "elastic/coordinator/commands/job_command.h"
#include "runtime/base/file.h"
#include "runtime/net/asio.h"

namespace scavenger::elastic {

// Thread: the io_context's, which is one.
class ControlSocket final {
 public:
  // Answers a command; throws InputError if it cannot be obeyed.
  using Obey = std::function<nlohmann::json(const JobCommand&)>;

  // Takes the place of a socket that a killed process left. Throws SystemError.
  ControlSocket(asio::io_context& io, const std::filesystem::path& run_folder, Obey obey);
  ~ControlSocket();

 private:
  using Socket = asio::local::stream_protocol::socket;

  void listen();
  awaitable<void> accept();
  awaitable<void> serve(std::shared_ptr<Socket> socket);
  std::string answer(const std::string& line) const;

  asio::io_context& io_;
  // Named through the open folder, since the name of a socket may have 107 characters only.
  const FileDescriptor folder_;
  const std::filesystem::path path_;
  const Obey obey_;
  asio::local::stream_protocol::acceptor acceptor_;
  std::list<std::shared_ptr<Socket>> clients_;  // by when they came
};

// Asks the job that runs in this folder, and gives its answer. Throws InputError if no job runs
// there, or it refuses; ConnectionError if it does not answer.
nlohmann::json ask_job(const std::filesystem::path& run_folder, const nlohmann::json& command);

}  // namespace scavenger::elastic
