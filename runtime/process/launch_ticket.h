// What a process of a job is told by whoever starts it, through its standard input: never on the
// command line or in the environment, which other users of the machine may read.
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
  std::int64_t parent_pid = 0;    // 0: started from another host
  std::uint32_t threads = 1;      // for computing
  std::string listen_host;        // the address at which the other processes reach it
  std::uint16_t listen_port = 0;  // shard: 0 for any free port
  bool has_shared_file = false;   // it is inherited, as kInheritedFile (child_process.h)
  std::string config;             // the job's resolved configuration, JSON
};

std::string encode(const LaunchTicket& ticket);

// Throws InputError for anything else than a ticket, which is what a user sees who starts a worker
// by hand.
LaunchTicket decode_launch_ticket(const std::string& line);
// From standard input, up to its end of line.
LaunchTicket read_launch_ticket();

}  // namespace scavenger
