#include "elastic/coordinator/commands/control_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/net/spawn.h"

namespace scavenger::elastic {
namespace {

using asio::local::stream_protocol;

constexpr const char* kName = "control.sock";
constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostClients = 16;
constexpr auto kAnswerPatience = std::chrono::seconds(10);

FileDescriptor open_folder(const std::filesystem::path& folder) {
  FileDescriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0)
    throw SystemError(errno, {.what = "cannot be opened", .where = folder.string(), .remedy = {}});
  return opened;
}

std::filesystem::path socket_in(const FileDescriptor& folder) {
  return fmt::format("/proc/self/fd/{}/{}", folder.get(), kName);
}

bool is_owner(stream_protocol::socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

}  // namespace

ControlSocket::ControlSocket(asio::io_context& io, const std::filesystem::path& run_folder,
                             Obey obey)
    : io_(io),
      folder_(open_folder(run_folder)),
      path_(socket_in(folder_)),
      obey_(std::move(obey)),
      acceptor_(io) {
  try {
    listen();
  } catch (const boost::system::system_error& error) {
    throw SystemError({.what = fmt::format("cannot be listened at: {}", error.code().message()),
                       .where = (run_folder / kName).string(),
                       .remedy = "use a run folder on a file system that knows sockets (--run)"});
  }
  spawn(io_, accept());
}

void ControlSocket::listen() {
  std::filesystem::remove(path_);
  acceptor_.open();
  const mode_t mask = ::umask(0177);  // nobody else gets in, not even for a moment
  boost::system::error_code error;
  acceptor_.bind(stream_protocol::endpoint(path_.string()), error);
  ::umask(mask);
  if (error) throw boost::system::system_error(error);
  acceptor_.listen();
}

ControlSocket::~ControlSocket() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

awaitable<void> ControlSocket::accept() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(use_awaitable));
    if (error == asio::error::operation_aborted) co_return;
    if (error || !is_owner(socket)) continue;
    // Who asks is answered at once, so the one that came first has nothing to ask.
    if (clients_.size() >= kMostClients) {
      boost::system::error_code ignored;
      clients_.front()->close(ignored);
      clients_.pop_front();
    }
    clients_.push_back(std::make_shared<Socket>(std::move(socket)));
    spawn(io_, serve(clients_.back()));
  }
}

awaitable<void> ControlSocket::serve(std::shared_ptr<Socket> socket) {
  std::string received;
  for (;;) {
    auto buffer = asio::dynamic_buffer(received, kLongestLine);
    const auto [error, length] =
        co_await asio::async_read_until(*socket, buffer, '\n', asio::as_tuple(use_awaitable));
    if (error) break;
    const std::string reply = answer(received.substr(0, length - 1));
    received.erase(0, length);
    const auto bytes = asio::buffer(reply);
    const auto [failed, written] =
        co_await asio::async_write(*socket, bytes, asio::as_tuple(use_awaitable));
    if (failed) break;
  }
  clients_.remove(socket);
}

std::string ControlSocket::answer(const std::string& line) const {
  try {
    return json_text(obey_(parse_job_command(line))) + "\n";
  } catch (const InputError& error) {
    return json_text(nlohmann::json{{"error", error.what()}}) + "\n";
  }
}

// ---- The other side. ----

nlohmann::json ask_job(const std::filesystem::path& run_folder, const nlohmann::json& command) {
  if (!std::filesystem::is_directory(run_folder))
    throw InputError({.what = "there is no such run folder",
                      .where = run_folder.string(),
                      .remedy = "name the folder of a running job, such as runs/fashion_mlp"});
  const FileDescriptor folder = open_folder(run_folder);
  asio::io_context io;
  stream_protocol::socket socket(io);
  boost::system::error_code refused;
  socket.connect(stream_protocol::endpoint(socket_in(folder).string()), refused);
  if (refused == asio::error::access_denied)
    throw InputError({.what = "the job is somebody else's",
                      .where = run_folder.string(),
                      .remedy = "ask as the user who started it"});
  if (refused)
    throw InputError({.what = "no job runs there",
                      .where = run_folder.string(),
                      .remedy = "start it with scavenger-train --resume"});
  std::string reply;
  boost::system::error_code failure = asio::error::timed_out;
  const std::string line = json_text(command) + "\n";
  asio::async_write(socket, asio::buffer(line),
                    [&](const boost::system::error_code& error, std::size_t) {
                      if (error) failure = error;
                    });
  asio::async_read_until(
      socket, asio::dynamic_buffer(reply), '\n',
      [&](const boost::system::error_code& error, std::size_t) { failure = error; });
  io.run_for(kAnswerPatience);
  if (failure)
    throw ConnectionError({.what = "the job does not answer: " + failure.message(),
                           .where = run_folder.string(),
                           .remedy = "see whether scavenger-train still runs"});
  nlohmann::json answer = parse_json(reply);
  if (answer.contains("error"))
    throw InputError({.what = answer.at("error").get<std::string>(), .where = {}, .remedy = {}});
  return answer;
}

}  // namespace scavenger::elastic
