// At which addresses the nodes of a cluster and this machine reach each other.
#pragma once

#include <optional>
#include <string>

#include "runtime/net/asio.h"

namespace scavenger {

// Returns the numeric address of a host, one of IPv4 first; `name` itself if it has none.
std::string numeric_address(const std::string& name);

// Returns the address of an interface of this machine, such as "ib0", one of IPv4 first; nothing if
// there is no such interface, or it has no address that others reach.
std::optional<std::string> address_of_interface(const std::string& interface);

// Returns the address of this machine from which it reaches `numeric`; nothing if there is no way.
// No packet is sent.
std::optional<std::string> address_towards(const std::string& numeric);

// Returns the address that Slurm knows a node by (NodeAddr).
awaitable<std::string> slurm_address_of(std::string node);

}  // namespace scavenger
