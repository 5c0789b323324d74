// Connections on which both sides have proved that they know the job's secret: in TLS with a key
// that follows from it (tls.h) where a connection leaves the host, and, there and everywhere, by
// the handshake of handshake.h, which also tells another job and another version.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/net/asio.h"
#include "runtime/net/handshake.h"
#include "runtime/net/job_socket.h"

namespace scavenger {

// Where a process of the job listens.
struct Endpoint {
  std::string host;  // a numeric address: "127.0.0.1"
  std::uint16_t port = 0;
};

// Connects and authenticates, all within `seconds`; tries again while the other side is not there
// yet, or has no time for us. Throws ConnectionError naming the endpoint; ProtocolError where the
// other side is not of this job.
awaitable<JobSocket> connect_authenticated(Endpoint endpoint, JobCredentials credentials,
                                           double seconds);

// Authenticates a client that has just connected, within `seconds`. Throws as above; the socket is
// closed then, and reset where the time was over.
awaitable<void> authenticate_client(JobSocket& socket, JobCredentials credentials, double seconds);

// A listening socket. Throws SystemError naming the endpoint, for instance where the port is in
// use.
tcp::acceptor listen_on(asio::io_context& io, const Endpoint& endpoint);

}  // namespace scavenger
