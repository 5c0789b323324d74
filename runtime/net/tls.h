// TLS 1.3 between two processes of a job, with a pre-shared key that is derived from the job's
// secret. Both sides prove that they know the key; there are no certificates. The key exchange is
// ephemeral Diffie-Hellman, so that a recorded session cannot be decrypted even if the secret leaks
// later.
#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <string>

#include "runtime/base/digest.h"
#include "runtime/net/asio.h"
#include "runtime/net/handshake.h"

namespace scavenger {

enum class TlsSide { kClient, kServer };

// Returns the pre-shared key: HKDF-SHA-256 of the secret, with the job's id as salt and a label.
// The key reveals nothing about the secret, which the handshake of handshake.h uses directly.
Digest tls_key(const JobCredentials& credentials);

// Returns the name of the key, which is sent unencrypted: "scavenger", protocol version, job id.
std::string tls_identity(const JobCredentials& credentials);

// Thread: like an Asio socket. At most one read and one write at a time.
class TlsLayer final {
 public:
  using Stream = asio::ssl::stream<tcp::socket>;

  TlsLayer(tcp::socket socket, const JobCredentials& credentials, TlsSide side);
  ~TlsLayer();
  TlsLayer(const TlsLayer&) = delete;
  TlsLayer& operator=(const TlsLayer&) = delete;

  // Throws ProtocolError if the peer does not know the key, and boost::system::system_error if it
  // ended the connection.
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
