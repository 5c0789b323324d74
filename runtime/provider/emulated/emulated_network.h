// The machines of an emulated cluster as this machine has them: network namespaces at one switch,
// named after the process that made them, so that what a killed one left can be told and removed.
// Needs root, and the programs ip and tc (iproute2).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/net/asio.h"

namespace scavenger {

// Names of one owner's parts, and the commands that make them. Pure.
class EmulatedNames final {
 public:
  EmulatedNames(pid_t owner, std::uint32_t network) : owner_(owner), network_(network) {}

  std::string mark() const;                     // of everything: "scavenger-1234-emulated"
  std::string group(std::uint32_t slot) const;  // control group, within its parent mark()
  std::string bridge() const;
  std::string space(std::uint32_t slot) const;  // network namespace
  std::string port(std::uint32_t slot) const;   // its end at the switch
  std::string controller_address() const;
  std::string address(std::uint32_t slot) const;

  // For sh.
  std::string make_bridge_script() const;
  std::string make_machine_script(std::uint32_t slot, double link_megabits) const;

 private:
  pid_t owner_;
  std::uint32_t network_;  // 10.78.<network>.0/24
};

inline constexpr std::uint32_t kEmulatedSlots = 250;

// A network that no interface of this machine is in; throws SystemError where all are taken.
std::uint32_t free_emulated_network(std::uint32_t first_choice);

// What can be ended at once; both do nothing where there is nothing.
void cut_cable(const std::string& port);
void remove_space(const std::string& space);

// All that processes have left which are gone, or `owner` itself; says what it removed.
std::vector<std::string> remove_emulated(pid_t owner);
std::vector<std::string> remove_abandoned_emulated();

}  // namespace scavenger
