// The network of an emulated cluster: network namespaces that are connected to one bridge. Their
// names contain the id of the process that made them, so that the remains of a killed process can
// be found and removed. Requires root, and the programs ip and tc (iproute2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/net/asio.h"

namespace scavenger {

// The names of one owner's parts, and the commands that make them. Pure.
class EmulatedNames final {
 public:
  EmulatedNames(pid_t owner, std::uint32_t network) : owner_(owner), network_(network) {}

  std::string mark() const;                     // prefix of all names: "scavenger-1234-emulated"
  std::string group(std::uint32_t slot) const;  // control group, within its parent mark()
  std::string bridge() const;
  std::string space(std::uint32_t slot) const;  // network namespace
  std::string port(std::uint32_t slot) const;   // its end of the link at the bridge
  std::string controller_address() const;
  std::string address(std::uint32_t slot) const;

  // Scripts for sh.
  std::string make_bridge_script() const;
  std::string make_machine_script(std::uint32_t slot, double link_megabits) const;

 private:
  pid_t owner_;
  std::uint32_t network_;  // 10.78.<network>.0/24
};

inline constexpr std::uint32_t kEmulatedSlots = 250;

// Returns a network that no interface of this machine belongs to. Throws SystemError if all are
// taken.
std::uint32_t free_emulated_network(std::uint32_t first_choice);

// Remove one port or namespace at once; no effect if it does not exist.
void cut_cable(const std::string& port);
void remove_space(const std::string& space);

// Remove the parts of `owner`, or of all owners that have ended. Return what they have removed.
std::vector<std::string> remove_emulated(pid_t owner);
std::vector<std::string> remove_abandoned_emulated();

}  // namespace scavenger
