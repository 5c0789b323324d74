#include "runtime/process/launch_ticket.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

template <std::size_t size>
void copy_hex(const std::string& text, std::array<std::byte, size>& destination) {
  const auto bytes = parse_hex(text);
  if (bytes.size() != size)
    throw InputError({.what = "a key has a wrong length", .where = "launch ticket", .remedy = {}});
  std::copy(bytes.begin(), bytes.end(), destination.begin());
}

// The JSON library would convert -1 to 4294967295.
template <typename Number>
Number whole_number(const nlohmann::json& value, Number least) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= kMost &&
                    value.get<Number>() >= least;
  if (!fits)
    throw InputError({.what = "a number is out of range", .where = "launch ticket", .remedy = {}});
  return value.get<Number>();
}

Role role_of(const std::string& name) {
  if (const auto role = find_word<Role>(name)) return *role;
  throw InputError({.what = "there is no such role", .where = "launch ticket", .remedy = {}});
}

}  // namespace

std::string encode(const LaunchTicket& ticket) {
  const nlohmann::json json = {{"role", name_of(ticket.role)},
                               {"index", ticket.index},
                               {"job_id", to_hex(ticket.credentials.job_id)},
                               {"secret", to_hex(ticket.credentials.secret)},
                               {"host", ticket.controller.host},
                               {"port", ticket.controller.port},
                               {"parent_pid", ticket.parent_pid},
                               {"threads", ticket.threads},
                               {"listen_host", ticket.listen_host},
                               {"listen_port", ticket.listen_port},
                               {"has_shared_file", ticket.has_shared_file},
                               {"config", ticket.config}};
  return json_text(json) + "\n";
}

LaunchTicket decode_launch_ticket(const std::string& line) {
  try {
    const auto json = parse_json(line);
    LaunchTicket ticket;
    ticket.role = role_of(json.at("role").get<std::string>());
    ticket.index = whole_number<std::uint32_t>(json.at("index"), 0);
    copy_hex(json.at("job_id").get<std::string>(), ticket.credentials.job_id);
    copy_hex(json.at("secret").get<std::string>(), ticket.credentials.secret);
    ticket.controller = {json.at("host").get<std::string>(),
                         whole_number<std::uint16_t>(json.at("port"), 1)};
    ticket.parent_pid = whole_number<std::int32_t>(json.at("parent_pid"), 0);
    ticket.threads = whole_number<std::uint32_t>(json.at("threads"), 1);
    ticket.listen_host = json.at("listen_host").get<std::string>();
    ticket.listen_port = whole_number<std::uint16_t>(json.at("listen_port"), 0);
    ticket.has_shared_file = json.at("has_shared_file").get<bool>();
    ticket.config = json.at("config").get<std::string>();
    return ticket;
  } catch (const nlohmann::json::exception&) {
    throw InputError(
        {.what = "this process is started by scavenger-train, which sends it a launch ticket",
         .where = "standard input",
         .remedy = "run scavenger-train CONFIG"});
  }
}

LaunchTicket read_launch_ticket() {
  std::string line;
  std::getline(std::cin, line);
  return decode_launch_ticket(line);
}

}  // namespace scavenger
