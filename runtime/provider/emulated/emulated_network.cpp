#include "runtime/provider/emulated/emulated_network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/provider/emulated/cpu_share.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

const fs::path kSpaces = "/run/netns";  // where `ip netns` keeps them
constexpr const char* kPrefix = "scavenger-";
constexpr const char* kSuffix = "-emulated";
constexpr const char* kBridgePrefix = "scv";
constexpr const char* kPortPrefix = "sv";
constexpr std::uint32_t kNetworks = 256;
constexpr std::uint32_t kFirstHost = 2;

// "scavenger-1234-emulated-vm3" -> 1234
std::optional<pid_t> owner_in(const std::string& name, const std::string& prefix,
                              const std::string& suffix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  pid_t owner = 0;
  const char* const begin = name.data() + prefix.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), owner);
  const bool fits = error == std::errc() && std::string_view(end).starts_with(suffix);
  return fits ? std::optional(owner) : std::nullopt;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.insert(entry.path().filename().string());
  return names;
}

// Removes a network interface, and with one end of a veth pair also the other: like `ip link
// delete`, but without starting a process.
void remove_interface(const std::string& name) {
  struct {
    nlmsghdr header;
    ifinfomsg interface;
  } request{};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof(ifinfomsg));
  request.header.nlmsg_type = RTM_DELLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.interface.ifi_index = static_cast<int>(::if_nametoindex(name.c_str()));
  if (request.interface.ifi_index == 0) return;
  const FileDescriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (::send(socket.get(), &request, request.header.nlmsg_len, 0) < 0) return;
  std::array<char, 4096> answer;
  ::recv(socket.get(), answer.data(), answer.size(), 0);  // the answer confirms the removal
}

// Kills the processes of a group and removes it. Waits, since a killed process leaves its group
// only when it has been reaped.
bool empty_group(const fs::path& group) {
  constexpr int kTries = 100, kTryMilliseconds = 10;
  for (int i = 0; i < kTries; ++i) {
    kill_all_in(group);
    if (remove_cpu_share(group)) return true;
    ::poll(nullptr, 0, kTryMilliseconds);
  }
  return false;
}

// Removes all parts that an owner has left, in the reverse order of their construction.
std::vector<std::string> remove_parts(pid_t owner) {
  std::vector<std::string> removed;
  const std::string mark = EmulatedNames(owner, 0).mark();
  const fs::path groups = cpu_share_root() / mark;
  for (const std::string& name : names_in(groups)) {
    const fs::path group = groups / name;
    if (!fs::is_directory(group)) continue;
    if (empty_group(group)) removed.push_back("control group " + mark + "/" + name);
  }
  if (fs::exists(groups) && remove_cpu_share(groups)) removed.push_back("control group " + mark);
  for (const std::string& name : names_in(kSpaces)) {
    if (owner_in(name, kPrefix, kSuffix) != owner) continue;
    remove_space(name);
    removed.push_back("network namespace " + name);
  }
  for (const std::string& name : names_in("/sys/class/net")) {
    const bool is_port = owner_in(name, kPortPrefix, "x") == owner;
    if (!is_port && name != EmulatedNames(owner, 0).bridge()) continue;
    remove_interface(name);
    removed.push_back("network interface " + name);
  }
  return removed;
}

}  // namespace

// ---- Names and commands. ----

std::string EmulatedNames::mark() const {
  return fmt::format("{}{}{}", kPrefix, owner_, kSuffix);
}

std::string EmulatedNames::group(std::uint32_t slot) const {
  return fmt::format("{}/vm{}", mark(), slot);
}

std::string EmulatedNames::bridge() const {
  return fmt::format("{}{}", kBridgePrefix, owner_);
}

std::string EmulatedNames::space(std::uint32_t slot) const {
  return fmt::format("{}-vm{}", mark(), slot);
}

// The name of an interface has at most 15 characters.
std::string EmulatedNames::port(std::uint32_t slot) const {
  return fmt::format("{}{}x{}", kPortPrefix, owner_, slot);
}

std::string EmulatedNames::controller_address() const {
  return fmt::format("10.78.{}.1", network_);
}

std::string EmulatedNames::address(std::uint32_t slot) const {
  return fmt::format("10.78.{}.{}", network_, slot + kFirstHost);
}

// The bridge gets a hardware address of its own. Otherwise it has that of one of its ports, and is
// unreachable for seconds when that port is removed.
std::string EmulatedNames::make_bridge_script() const {
  return fmt::format(
      "set -e\n"
      "ip link add {0} address 02:53:43:{2:02x}:ff:ff type bridge forward_delay 0\n"
      "ip address add {1}/24 dev {0}\n"
      "ip link set {0} up\n",
      bridge(), controller_address(), network_);
}

std::string EmulatedNames::make_machine_script(std::uint32_t slot, double link_megabits) const {
  // The hardware address depends only on the slot, so that the neighbours' tables stay valid.
  std::string script = fmt::format(
      "set -e\n"
      "ip netns add {0}\n"
      "ip link add {1} type veth peer name eth0 address 02:53:43:{2:02x}:{3:02x}:{4:02x} netns "
      "{0}\n"
      "ip link set {1} master {5} up\n"
      "ip -n {0} link set lo up\n"
      "ip -n {0} address add {6}/24 dev eth0\n"
      "ip -n {0} link set eth0 up\n",
      space(slot), port(slot), network_, slot >> 8, slot & 255, bridge(), address(slot));
  if (link_megabits <= 0.0) return script;
  // The queue of each end shapes one direction of the link.
  const std::string shape =
      fmt::format("root tbf rate {:.0f}kbit burst 128kb latency 20ms", link_megabits * 1000.0);
  script += fmt::format("tc qdisc add dev {} {}\n", port(slot), shape);
  script += fmt::format("ip netns exec {} tc qdisc add dev eth0 {}\n", space(slot), shape);
  return script;
}

// ---- This machine. ----

std::uint32_t free_emulated_network(std::uint32_t first_choice) {
  std::set<std::uint32_t> taken;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) == 0) {
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
      sockaddr_in address{};
      std::memcpy(&address, one->ifa_addr, sizeof address);
      const std::uint32_t bits = ntohl(address.sin_addr.s_addr);
      if (bits >> 16 == (10U << 8 | 78U)) taken.insert(bits >> 8 & 255U);
    }
  }
  for (std::uint32_t i = 0; i < kNetworks; ++i) {
    const std::uint32_t network = (first_choice + i) % kNetworks;
    if (!taken.contains(network)) return network;
  }
  throw SystemError({.what = "all networks 10.78.x.0/24 are taken",
                     .where = "emulated machines",
                     .remedy = "scavenger-ctl clean removes what killed jobs have left"});
}

void cut_cable(const std::string& port) {
  remove_interface(port);
}

void remove_space(const std::string& space) {
  const fs::path path = kSpaces / space;
  ::umount2(path.c_str(), MNT_DETACH);
  ::unlink(path.c_str());
}

std::vector<std::string> remove_emulated(pid_t owner) {
  return remove_parts(owner);
}

std::vector<std::string> remove_abandoned_emulated() {
  std::set<pid_t> owners;
  for (const std::string& name : names_in(kSpaces))
    if (const auto owner = owner_in(name, kPrefix, kSuffix)) owners.insert(*owner);
  if (const fs::path root = cpu_share_root(); !root.empty())
    for (const std::string& name : names_in(root))
      if (const auto owner = owner_in(name, kPrefix, kSuffix)) owners.insert(*owner);
  for (const std::string& name : names_in("/sys/class/net"))
    if (const auto owner = owner_in(name, kBridgePrefix, "")) owners.insert(*owner);
  std::vector<std::string> removed;
  for (const pid_t owner : owners) {
    if (::kill(owner, 0) == 0 || errno == EPERM) continue;  // the owner still runs
    const auto parts = remove_parts(owner);
    removed.insert(removed.end(), parts.begin(), parts.end());
  }
  return removed;
}

}  // namespace scavenger
