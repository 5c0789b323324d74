#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/torch/c10d/c10d.h"

namespace scavenger {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& address) {
  throw SystemError({.what = what + ": " + std::strerror(errno),
                     .where = "meeting place of all-reduce workers at " + address,
                     .remedy = "check cluster.hosts: it must be an address of this machine"});
}

// Opens the listening socket, since TCPStore itself would listen at all addresses.
std::pair<FileDescriptor, std::uint16_t> listen_at(const std::string& address) {
  sockaddr_storage place{};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&place);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&place);
  socklen_t size = sizeof(sockaddr_in);
  if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
  } else {
    size = sizeof(sockaddr_in6);
    v6->sin6_family = AF_INET6;
    if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) != 1) fail("no address", address);
  }
  FileDescriptor socket(::socket(place.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto* const generic = reinterpret_cast<sockaddr*>(&place);
  if (socket.get() < 0 || ::bind(socket.get(), generic, size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0 || ::getsockname(socket.get(), generic, &size) != 0)
    fail("cannot listen", address);
  const std::uint16_t port = ntohs(place.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
  return {std::move(socket), port};
}

class StoreServer final : public MeetingPlace {
 public:
  explicit StoreServer(const std::string& address) {
    auto [socket, port] = listen_at(address);
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = true;
    options.waitWorkers = false;
    options.masterListenFd = socket.release();
    store_ = c10::make_intrusive<c10d::TCPStore>(address, options);
    port_ = port;
  }
  std::uint16_t port() const override { return port_; }

 private:
  c10::intrusive_ptr<c10d::TCPStore> store_;
  std::uint16_t port_ = 0;
};

}  // namespace

std::unique_ptr<MeetingPlace> open_meeting_place(const std::string& address) {
  try {
    return std::make_unique<StoreServer>(address);
  } catch (const c10::Error& error) {
    throw SystemError({.what = error.what_without_backtrace(),
                       .where = "meeting place of all-reduce workers at " + address,
                       .remedy = {}});
  }
}

}  // namespace scavenger
