// Connections on which both sides have proved that they know the job's secret. Every connection
// begins with the handshake of handshake.h, which also detects a process of another job or another
// version. A connection that leaves the host is encrypted before that: by TLS, with a key that is
// derived from the secret (tls.h).
#pragma once

#include <cstdint>
#include <string>

#include "runtime/net/asio.h"
#include "runtime/net/handshake.h"
#include "runtime/net/job_socket.h"

namespace scavenger {

// The address and port at which a process of the job listens.
struct Endpoint {
  std::string host;  // a numeric address: "127.0.0.1"
  std::uint16_t port = 0;
};

// Connects and authenticates, all within `seconds`. Tries again while the other side does not
// listen yet, or drops us because it is overloaded. Throws ConnectionError, which names the
// endpoint, if it does not succeed; ProtocolError if the other side does not belong to this job.
awaitable<JobSocket> connect_authenticated(Endpoint endpoint, JobCredentials credentials,
                                           double seconds);

// Authenticates a client that has just connected, within `seconds`. Throws like
// connect_authenticated(); the socket is then closed, by a reset if the time was over.
awaitable<void> authenticate_client(JobSocket& socket, JobCredentials credentials, double seconds);

// Returns a listening socket. Throws SystemError, which names the endpoint, for instance if the
// port is in use.
tcp::acceptor listen_on(asio::io_context& io, const Endpoint& endpoint);

}  // namespace scavenger
