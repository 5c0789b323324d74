#include "runtime/net/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/net/frame.h"

namespace scavenger {
namespace {

constexpr std::string_view kHelloMagic = "SCVHELLO";

[[noreturn]] void refuse_handshake(std::string what) {
  throw ProtocolError({.what = std::move(what), .where = "handshake", .remedy = {}});
}

Digest proof_of(std::string_view side, const JobCredentials& credentials, const Nonce& client_nonce,
                const Nonce& server_nonce) {
  std::vector<std::byte> message;
  const auto append = [&message](std::span<const std::byte> part) {
    message.insert(message.end(), part.begin(), part.end());
  };
  append(std::as_bytes(std::span(side)));
  append(credentials.job_id);
  append(client_nonce);
  append(server_nonce);
  return hmac_sha256(credentials.secret, message);
}

}  // namespace

JobCredentials JobCredentials::generate() {
  JobCredentials credentials;
  fill_with_secret_bytes(credentials.job_id);
  fill_with_secret_bytes(credentials.secret);
  return credentials;
}

Nonce fresh_nonce() {
  Nonce nonce;
  fill_with_secret_bytes(nonce);
  return nonce;
}

std::array<std::byte, kHelloBytes> make_hello(const JobCredentials& credentials,
                                              const Nonce& client_nonce) {
  std::array<std::byte, kHelloBytes> hello{};
  const std::uint32_t version = kProtocolVersion;
  std::memcpy(hello.data(), kHelloMagic.data(), 8);
  std::memcpy(hello.data() + 8, &version, 4);
  std::copy(credentials.job_id.begin(), credentials.job_id.end(), hello.begin() + 12);
  std::copy(client_nonce.begin(), client_nonce.end(), hello.begin() + 28);
  return hello;
}

Nonce check_hello(std::span<const std::byte, kHelloBytes> hello,
                  const JobCredentials& credentials) {
  if (std::memcmp(hello.data(), kHelloMagic.data(), 8) != 0)
    refuse_handshake("the peer does not speak Scavenger's protocol");
  std::uint32_t version = 0;
  std::memcpy(&version, hello.data() + 8, 4);
  if (version != kProtocolVersion)
    refuse_handshake(fmt::format("the peer speaks protocol version {}, this build speaks {}",
                                 version, kProtocolVersion));
  if (!std::equal(credentials.job_id.begin(), credentials.job_id.end(), hello.begin() + 12))
    refuse_handshake("the peer belongs to another job");
  Nonce nonce;
  std::copy(hello.begin() + 28, hello.end(), nonce.begin());
  return nonce;
}

std::array<std::byte, kChallengeBytes> make_challenge(const JobCredentials& credentials,
                                                      const Nonce& client_nonce,
                                                      const Nonce& server_nonce) {
  std::array<std::byte, kChallengeBytes> challenge;
  const Digest proof = proof_of("server", credentials, client_nonce, server_nonce);
  std::copy(server_nonce.begin(), server_nonce.end(), challenge.begin());
  std::copy(proof.begin(), proof.end(), challenge.begin() + 32);
  return challenge;
}

Nonce check_challenge(std::span<const std::byte, kChallengeBytes> challenge,
                      const JobCredentials& credentials, const Nonce& client_nonce) {
  Nonce server_nonce;
  std::copy_n(challenge.begin(), 32, server_nonce.begin());
  const Digest expected = proof_of("server", credentials, client_nonce, server_nonce);
  if (!equal_in_constant_time(challenge.subspan(32), expected))
    refuse_handshake("the server does not know the job's secret");
  return server_nonce;
}

Digest make_proof(const JobCredentials& credentials, const Nonce& client_nonce,
                  const Nonce& server_nonce) {
  return proof_of("client", credentials, client_nonce, server_nonce);
}

void check_proof(std::span<const std::byte, kProofBytes> proof, const JobCredentials& credentials,
                 const Nonce& client_nonce, const Nonce& server_nonce) {
  const Digest expected = proof_of("client", credentials, client_nonce, server_nonce);
  if (!equal_in_constant_time(proof, expected))
    refuse_handshake("the client does not know the job's secret");
}

}  // namespace scavenger
