#include "runtime/net/handshake.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/base/error.h"

using namespace scavenger;

namespace {

struct Handshake {
  explicit Handshake(const JobCredentials& job)
      : client(fresh_nonce()),
        server(fresh_nonce()),
        hello(make_hello(job, client)),
        challenge(make_challenge(job, client, server)),
        proof(make_proof(job, client, server)) {}
  Nonce client;
  Nonce server;
  std::array<std::byte, kHelloBytes> hello;
  std::array<std::byte, kChallengeBytes> challenge;
  Digest proof;
};

JobCredentials other_secret(JobCredentials job) {
  job.secret[31] ^= std::byte{1};
  return job;
}

}  // namespace

TEST_CASE("two who know the secret accept each other, and learn each other's nonce") {
  const JobCredentials job = JobCredentials::generate();
  const Handshake good(job);

  CHECK(check_hello(good.hello, job) == good.client);
  CHECK(check_challenge(good.challenge, job, good.client) == good.server);
  CHECK_NOTHROW(check_proof(good.proof, job, good.client, good.server));
}

TEST_CASE("a secret that differs in one bit is a wrong one, on either side") {
  const JobCredentials job = JobCredentials::generate();
  const Handshake good(job);
  const JobCredentials wrong = other_secret(job);

  CHECK_THROWS_AS(check_challenge(good.challenge, wrong, good.client), ProtocolError);
  CHECK_THROWS_AS(check_proof(good.proof, wrong, good.client, good.server), ProtocolError);
}

TEST_CASE("a hello that is garbage, of another version or of another job is refused") {
  const JobCredentials job = JobCredentials::generate();
  const JobCredentials other = JobCredentials::generate();
  auto garbage = make_hello(job, fresh_nonce());
  auto newer = garbage;
  garbage[0] = std::byte{'G'};
  newer[8] = std::byte{2};

  CHECK_THROWS_WITH(check_hello(garbage, job), Catch::Contains("does not speak"));
  CHECK_THROWS_WITH(check_hello(newer, job), Catch::Contains("version 2"));
  CHECK_THROWS_WITH(check_hello(make_hello(other, fresh_nonce()), job),
                    Catch::Contains("another job"));
}

TEST_CASE("a recorded handshake proves nothing in another one") {
  const JobCredentials job = JobCredentials::generate();
  const Handshake recorded(job);
  const Nonce fresh = fresh_nonce();

  CHECK_THROWS_AS(check_challenge(recorded.challenge, job, fresh), ProtocolError);
  CHECK_THROWS_AS(check_proof(recorded.proof, job, recorded.client, fresh), ProtocolError);
}

TEST_CASE("a server's proof sent back to it is not a client's proof") {
  const JobCredentials job = JobCredentials::generate();
  const Handshake good(job);
  Digest reflected;
  std::copy(good.challenge.begin() + 32, good.challenge.end(), reflected.begin());

  CHECK_THROWS_AS(check_proof(reflected, job, good.client, good.server), ProtocolError);
}

TEST_CASE("no message holds the secret, and no two jobs or nonces are alike") {
  const JobCredentials job = JobCredentials::generate();
  const Handshake good(job);
  const auto holds_secret = [&job](std::span<const std::byte> bytes) {
    return std::search(bytes.begin(), bytes.end(), job.secret.begin(), job.secret.end()) !=
           bytes.end();
  };

  CHECK_FALSE(holds_secret(good.hello));
  CHECK_FALSE(holds_secret(good.challenge));
  CHECK_FALSE(holds_secret(good.proof));
  CHECK(JobCredentials::generate().secret != job.secret);
  CHECK(JobCredentials::generate().job_id != job.job_id);
  CHECK(fresh_nonce() != fresh_nonce());
}
