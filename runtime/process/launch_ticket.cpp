#include "runtime/process/launch_ticket.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
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
                               {"listen_port", ticket.listen_port},
                               {"config", ticket.config}};
  return json.dump() + "\n";
}

LaunchTicket read_launch_ticket() {
  std::string line;
  std::getline(std::cin, line);
  try {
    const auto json = nlohmann::json::parse(line);
    LaunchTicket ticket;
    ticket.role = json.at("role") == "worker" ? Role::kWorker : Role::kShard;
    ticket.index = json.at("index").get<std::uint32_t>();
    copy_hex(json.at("job_id").get<std::string>(), ticket.credentials.job_id);
    copy_hex(json.at("secret").get<std::string>(), ticket.credentials.secret);
    ticket.controller = {json.at("host").get<std::string>(), json.at("port").get<std::uint16_t>()};
    ticket.parent_pid = json.at("parent_pid").get<std::int64_t>();
    ticket.threads = json.at("threads").get<std::uint32_t>();
    ticket.listen_port = json.at("listen_port").get<std::uint16_t>();
    ticket.config = json.at("config").get<std::string>();
    return ticket;
  } catch (const nlohmann::json::exception&) {
    throw InputError(
        {.what = "this process is started by scavenger-train, which sends it a launch ticket",
         .where = "standard input",
         .remedy = "run scavenger-train CONFIG"});
  }
}

}  // namespace scavenger
