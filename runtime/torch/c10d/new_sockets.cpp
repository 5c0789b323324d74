#include "runtime/torch/c10d/new_sockets.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <optional>

namespace scavenger {
namespace {

// Identifies a socket, even if another one later has the same number.
std::optional<ino_t> identity_of_socket(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0 || !S_ISSOCK(facts.st_mode)) return std::nullopt;
  return facts.st_ino;
}

int option_of(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

bool is_tcp_connection(int fd) {
  const int domain = option_of(fd, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && option_of(fd, SO_TYPE) == SOCK_STREAM &&
         option_of(fd, SO_ACCEPTCONN) == 0;
}

template <typename Do>
void for_each_socket(const Do& what) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] == '.') continue;
    const int fd = std::atoi(entry->d_name);
    if (const auto identity = identity_of_socket(fd)) what(fd, *identity);
  }
}

}  // namespace

NewSockets::NewSockets() {
  for_each_socket([this](int, ino_t identity) { before_.insert(identity); });
}

void NewSockets::shut_down() const {
  for_each_socket([this](int fd, ino_t identity) {
    if (!before_.contains(identity) && is_tcp_connection(fd)) ::shutdown(fd, SHUT_RDWR);
  });
}

}  // namespace scavenger
