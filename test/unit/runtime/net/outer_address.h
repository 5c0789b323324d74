// An address of this machine that is not loopback's, so that a connection to it is one that "leaves
// the host", though its bytes do not.
#pragma once

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "runtime/net/asio.h"

namespace scavenger {

inline std::optional<std::string> outer_address() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return std::nullopt;
  std::optional<std::string> found;
  for (const ifaddrs* entry = first; entry != nullptr && !found; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0 || (entry->ifa_flags & IFF_UP) == 0) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    found = asio::ip::address_v4(ntohl(address->sin_addr.s_addr)).to_string();
  }
  freeifaddrs(first);
  return found;
}

}  // namespace scavenger

// Ends a test case, with a message, where the machine has no such address.
#define REQUIRE_OUTER_ADDRESS(name)                                      \
  const auto name##_found = scavenger::outer_address();                  \
  if (!name##_found) {                                                   \
    WARN("skipped: this machine has no IPv4 address beside loopback's"); \
    return;                                                              \
  }                                                                      \
  const std::string& name = *name##_found
