// The launch ticket, which a process of a job reads from its standard input at its start. It never
// appears on the command line or in the environment, which other users of the machine may read.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/net/authentication.h"
#include "runtime/net/handshake.h"
#include "runtime/protocol/control_message.h"

namespace scavenger {

struct LaunchTicket {
  Role role = Role::kWorker;
  std::uint32_t index = 0;
  JobCredentials credentials;
  Endpoint controller;
  std::int64_t parent_pid = 0;    // 0: started by another host
  std::uint32_t threads = 1;      // computing threads
  std::string listen_host;        // address at which the other processes reach it
  std::uint16_t listen_port = 0;  // shard: 0 for any free port
  bool has_shared_file = false;   // inherited as kInheritedFile (child_process.h)
  std::string config;             // the job's resolved configuration as JSON
};

std::string encode(const LaunchTicket& ticket);

// Throws InputError if `line` is not a ticket; a user who starts a worker by hand sees this error.
LaunchTicket decode_launch_ticket(const std::string& line);
// Reads a ticket from standard input, up to the end of the line.
LaunchTicket read_launch_ticket();

}  // namespace scavenger
