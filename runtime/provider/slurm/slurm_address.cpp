#include "runtime/provider/slurm/slurm_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/provider/slurm/slurm_commands.h"
#include "runtime/provider/slurm/slurm_text.h"

namespace scavenger {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses addresses_of(const std::string& name, int flags, const char* port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), port, &hints, &found) != 0) found = nullptr;
  return {found, [](addrinfo* list) {
            if (list != nullptr) ::freeaddrinfo(list);
          }};
}

std::string text_of(const sockaddr* address, socklen_t size) {
  char text[NI_MAXHOST] = "";
  if (::getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

// An IPv6 address that is only good on one link needs that link's name, which differs by machine.
bool is_of_one_link(const sockaddr* address) {
  if (address->sa_family != AF_INET6) return false;
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr) != 0;
}

}  // namespace

std::string numeric_address(const std::string& name) {
  const Addresses found = addresses_of(name, 0, nullptr);
  for (const int family : {AF_INET, AF_INET6})
    for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next)
      if (one->ai_family == family && !is_of_one_link(one->ai_addr))
        return text_of(one->ai_addr, one->ai_addrlen);
  return name;
}

std::optional<std::string> address_of_interface(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
      if (interface != one->ifa_name || is_of_one_link(one->ifa_addr)) continue;
      return text_of(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    }
  return std::nullopt;
}

std::optional<std::string> address_towards(const std::string& numeric) {
  const Addresses target = addresses_of(numeric, AI_NUMERICHOST, "9");
  if (!target) return std::nullopt;
  const FileDescriptor socket(::socket(target->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  if (socket.get() < 0 || ::connect(socket.get(), target->ai_addr, target->ai_addrlen) != 0 ||
      ::getsockname(socket.get(), address, &size) != 0 || is_of_one_link(address))
    return std::nullopt;
  return text_of(address, size);
}

awaitable<std::string> slurm_address_of(std::string node) {
  Words words = {"scontrol", "--oneliner", "show", "node", node};
  CommandResult result;
  try {
    result = co_await run_slurm(std::move(words));
  } catch (const SystemError& error) {  // no further process can be started
    log_warning("cannot ask Slurm for the address of node {}: {}", node, error.what());
  }
  co_return numeric_address(slurm_node_address(result.output).value_or(node));
}

}  // namespace scavenger
