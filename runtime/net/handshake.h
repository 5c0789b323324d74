// How two processes of one job prove to each other that both know the job's secret, without sending
// it.
//
//   client -> server   hello:      magic, protocol version, job id, a fresh nonce
//   server -> client   challenge:  a fresh nonce, HMAC(secret, "server", job id, both nonces)
//   client -> server   proof:      HMAC(secret, "client", job id, both nonces)
//   server -> client   verdict:    one byte, 1 = welcome
//
// All messages have a fixed size, so an unauthenticated peer cannot cause allocations; nonces are
// fresh, so a recorded handshake cannot be replayed. This file is the pure part; authentication.h
// moves the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/digest.h"

namespace scavenger {

using Nonce = std::array<std::byte, 32>;

// A process that has these credentials is a member of the job. The secret must appear neither in a
// log nor on a command line.
struct JobCredentials {
  std::array<std::byte, 16> job_id{};
  std::array<std::byte, 32> secret{};

  static JobCredentials generate();
};

inline constexpr std::size_t kHelloBytes = 8 + 4 + 16 + 32;
inline constexpr std::size_t kChallengeBytes = 32 + 32;
inline constexpr std::size_t kProofBytes = 32;

Nonce fresh_nonce();

std::array<std::byte, kHelloBytes> make_hello(const JobCredentials& credentials,
                                              const Nonce& client_nonce);

// Server: returns the client's nonce. Throws ProtocolError if the hello is malformed, or names
// another protocol version or another job.
Nonce check_hello(std::span<const std::byte, kHelloBytes> hello, const JobCredentials& credentials);

std::array<std::byte, kChallengeBytes> make_challenge(const JobCredentials& credentials,
                                                      const Nonce& client_nonce,
                                                      const Nonce& server_nonce);

// Client: returns the server's nonce. Throws ProtocolError if the server does not know the secret.
Nonce check_challenge(std::span<const std::byte, kChallengeBytes> challenge,
                      const JobCredentials& credentials, const Nonce& client_nonce);

Digest make_proof(const JobCredentials& credentials, const Nonce& client_nonce,
                  const Nonce& server_nonce);

// Server: throws ProtocolError if the client does not know the secret.
void check_proof(std::span<const std::byte, kProofBytes> proof, const JobCredentials& credentials,
                 const Nonce& client_nonce, const Nonce& server_nonce);

}  // namespace scavenger
