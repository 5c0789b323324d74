// TLS 1.3 between two processes of a job, with a key that follows from the job's secret: both sides
// prove to know it, there are no certificates, and a recorded session stays closed even to who
// learns the secret later (the key exchange is ephemeral Diffie-Hellman).
#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <string>

#include "runtime/base/digest.h"
#include "runtime/net/asio.h"
#include "runtime/net/handshake.h"

namespace scavenger {

enum class TlsSide { kClient, kServer };

// The pre-shared key: HKDF-SHA-256 of the secret with the job's id as salt and a label, so that it
// says nothing about the secret, which the hello of handshake.h uses as it is.
Digest tls_key(const JobCredentials& credentials);

// What names the key, in clear: "scavenger", protocol version, job id.
std::string tls_identity(const JobCredentials& credentials);

// Thread: as a socket's. At most one read and one write at a time.
class TlsLayer final {
 public:
  using Stream = asio::ssl::stream<tcp::socket>;

  TlsLayer(tcp::socket socket, const JobCredentials& credentials, TlsSide side);
  ~TlsLayer();
  TlsLayer(const TlsLayer&) = delete;
  TlsLayer& operator=(const TlsLayer&) = delete;

  // Throws ProtocolError where the peer does not know the key, and boost::system::system_error
  // where it ended the connection.
  awaitable<void> handshake();

  Stream& stream() { return stream_; }
  const Stream& stream() const { return stream_; }

 private:
  struct Key;

  const TlsSide side_;
  std::unique_ptr<Key> key_;
  Stream stream_;
};

}  // namespace scavenger
