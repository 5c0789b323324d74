// Connections on which both sides have proved that they know the job's secret (handshake.h).
#pragma once

#include <string>

#include "runtime/net/asio.h"
#include "runtime/net/handshake.h"

namespace scavenger {

// Where a process of the job listens.
struct Endpoint {
  std::string host;  // a numeric address: "127.0.0.1"
  std::uint16_t port = 0;
};

// Connects, retrying while the other side is not there yet, and authenticates, all within
// `seconds`. Throws ConnectionError naming the endpoint; ProtocolError where the other side is not
// of this job.
awaitable<tcp::socket> connect_authenticated(Endpoint endpoint, JobCredentials credentials,
                                             double seconds);

// Authenticates a client that has just connected, within `seconds`; throws as above, and closes the
// socket.
awaitable<tcp::socket> authenticate_client(tcp::socket socket, JobCredentials credentials,
                                           double seconds);

// A listening socket. Throws SystemError naming the endpoint, for instance where the port is in
// use.
tcp::acceptor listen_on(asio::io_context& io, const Endpoint& endpoint);

}  // namespace scavenger
