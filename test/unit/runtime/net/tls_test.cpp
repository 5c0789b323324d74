#include "runtime/net/tls.h"

#include <catch2/catch.hpp>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/net/authentication.h"
#include "runtime/net/frame_connection.h"
#include "test/unit/runtime/net/eavesdropper.h"
#include "test/unit/runtime/net/loopback.h"
#include "test/unit/runtime/net/outer_address.h"
#include "test/unit/runtime/net/tls_stranger.h"

using namespace scavenger;

namespace {

constexpr double kTlsPatience = 100.0;  // far more than anything here takes

// How one side ended: "in TLS", "in clear", or what was wrong.
using Ending = std::optional<std::string>;

std::string ending_of(const JobSocket& socket) {
  return socket.is_encrypted() ? "in TLS" : "in clear";
}

awaitable<void> serve_one(tcp::acceptor& acceptor, JobCredentials job, Ending& ending) {
  JobSocket socket(co_await acceptor.async_accept(use_awaitable));
  try {
    co_await authenticate_client(socket, job, kTlsPatience);
    ending = ending_of(socket);
  } catch (const Error& error) {
    ending = error.what();
  }
}

awaitable<void> join(Endpoint endpoint, JobCredentials job, double seconds, Ending& ending) {
  try {
    const JobSocket socket = co_await connect_authenticated(endpoint, job, seconds);
    ending = ending_of(socket);
  } catch (const Error& error) {
    ending = error.what();
  }
}

struct Server {
  explicit Server(const std::string& address)
      : acceptor(listen_on(io, {address, 0})),
        endpoint{address, acceptor.local_endpoint().port()} {}
  asio::io_context io;
  tcp::acceptor acceptor;
  Endpoint endpoint;
};

struct BothEndings {
  Ending client;
  Ending server;
};

BothEndings meet(const std::string& address, const JobCredentials& of_client,
                 const JobCredentials& of_server) {
  Server server(address);
  BothEndings endings;
  run_all(server.io, join(server.endpoint, of_client, kTlsPatience, endings.client),
          serve_one(server.acceptor, of_server, endings.server));
  return endings;
}

// What a server makes of a stranger who sends these bytes in clear; `answer`: all that it says.
Ending say_to_server(const std::string& address, const JobCredentials& job,
                     std::span<const std::byte> bytes, std::vector<std::byte>& answer) {
  Server server(address);
  tcp::socket stranger(server.io);
  stranger.connect(server.acceptor.local_endpoint());
  asio::write(stranger, asio::buffer(bytes.data(), bytes.size()));
  Ending ending;
  run_all(server.io, serve_one(server.acceptor, job, ending));
  boost::system::error_code error;
  asio::read(stranger, asio::dynamic_buffer(answer), error);
  return ending;
}

bool contains(std::span<const std::byte> bytes, std::string_view text) {
  const auto wanted = std::as_bytes(std::span(text));
  return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()) != bytes.end();
}

}  // namespace

TEST_CASE("only a connection between two loopback addresses stays on the host") {
  const auto stays = [](const char* local, const char* remote) {
    return stays_on_host(asio::ip::make_address(local), asio::ip::make_address(remote));
  };

  CHECK(stays("127.0.0.1", "127.0.0.1"));
  CHECK(stays("127.0.0.1", "127.8.9.1"));
  CHECK(stays("::1", "::1"));
  CHECK(stays("::ffff:127.0.0.1", "127.0.0.1"));
  CHECK_FALSE(stays("127.0.0.1", "10.0.0.1"));
  CHECK_FALSE(stays("10.0.0.1", "127.0.0.1"));
  CHECK_FALSE(stays("10.0.0.1", "10.0.0.1"));
  CHECK_FALSE(stays("::ffff:10.0.0.1", "::ffff:127.0.0.1"));
  CHECK_FALSE(stays("0.0.0.0", "0.0.0.0"));
}

TEST_CASE("the key of TLS is HKDF-SHA-256 of the secret, as OpenSSL's command computes it") {
  JobCredentials job;
  for (std::size_t i = 0; i < 32; ++i) job.secret[i] = static_cast<std::byte>(i);
  for (std::size_t i = 0; i < 16; ++i) job.job_id[i] = static_cast<std::byte>(100 + i);

  CHECK(to_hex(tls_key(job)) == "f474e56309a8f37218f89e567638b25956c90c46e451a00e4e0ccb57fe0f67f8");
  CHECK(tls_identity(job) == "scavenger 1 6465666768696a6b6c6d6e6f70717273");
}

TEST_CASE("members of one job meet in clear on loopback, and in TLS elsewhere") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();

  const BothEndings inside = meet("127.0.0.1", job, job);
  const BothEndings outside = meet(address, job, job);

  CHECK(*inside.client == "in clear");
  CHECK(*inside.server == "in clear");
  CHECK(*outside.client == "in TLS");
  CHECK(*outside.server == "in TLS");
}

TEST_CASE("in TLS a client and a server with different secrets refuse each other") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  JobCredentials stranger = job;
  stranger.secret = JobCredentials::generate().secret;

  const BothEndings endings = meet(address, stranger, job);

  CHECK_THAT(*endings.server, Catch::Contains("the client does not show that it knows"));
  CHECK_THAT(*endings.client, Catch::Contains("ended the handshake"));
}

TEST_CASE("in TLS a client of another job is refused as such") {
  REQUIRE_OUTER_ADDRESS(address);

  const BothEndings endings = meet(address, JobCredentials::generate(), JobCredentials::generate());

  CHECK_THAT(*endings.server, Catch::Contains("another job"));
  CHECK_THAT(*endings.client, Catch::Contains("ended the handshake"));
}

TEST_CASE("a clear hello, even of the job, gets no challenge on an address that others reach") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  std::vector<std::byte> answer;

  const Ending ending = say_to_server(address, job, make_hello(job, fresh_nonce()), answer);

  CHECK_THAT(*ending, Catch::Contains("does not show that it knows the job's secret"));
  CHECK(answer.size() < 20);  // an alert of TLS
}

TEST_CASE("garbage on an address that others reach is refused and harms nobody") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  for (const int first : {0x00, 0x16, 0x80, 0xFF}) {
    std::vector<std::byte> garbage(70000, static_cast<std::byte>(first));
    garbage[1] = std::byte{3};
    std::vector<std::byte> answer;

    const Ending ending = say_to_server(address, job, garbage, answer);

    CHECK_THAT(*ending, Catch::Contains("does not show") || Catch::Contains("left before"));
  }
}

TEST_CASE("a client says nothing in clear to an address that others reach") {
  REQUIRE_OUTER_ADDRESS(address);
  Server server(address);
  Ending ending;
  const JobCredentials job = JobCredentials::generate();
  asio::co_spawn(server.io, join(server.endpoint, job, 0.3, ending), asio::detached);
  tcp::socket client(server.io);
  std::vector<std::byte> heard(kHelloBytes);
  server.acceptor.async_accept(client, [&](const boost::system::error_code&) {
    asio::async_read(client, asio::buffer(heard), [&](const boost::system::error_code&, auto) {
      const auto challenge = make_challenge(job, fresh_nonce(), fresh_nonce());
      asio::write(client, asio::buffer(challenge));
    });
  });
  server.io.run_for(std::chrono::minutes(1));

  CHECK(heard[0] == std::byte{0x16});  // a handshake of TLS
  CHECK_FALSE(contains(heard, "SCVHELLO"));
  CHECK_THAT(*ending, Catch::Contains("the server does not show that it knows the job's secret"));
}

TEST_CASE("nothing of a frame or a hello can be read from outside, and all arrives") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  OverheardConversation talk(address, job);

  talk.client_sends("the weights of the job, which are nobody's business");

  CHECK(talk.server_received() == "the weights of the job, which are nobody's business");
  CHECK(talk.overheard().size() > 300);
  CHECK_FALSE(contains(talk.overheard(), "nobody's business"));
  CHECK_FALSE(contains(talk.overheard(), "SCVHELLO"));
  CHECK_FALSE(contains(talk.overheard(), "SCV1"));
  CHECK(contains(talk.overheard(), tls_identity(job)));  // so we have heard it at all
}

TEST_CASE("a recorded conversation that is played again is refused") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  OverheardConversation talk(address, job);
  talk.client_sends("one step with this gradient, please");
  std::vector<std::byte> answer;

  const Ending ending = say_to_server(address, job, talk.overheard(), answer);

  CHECK_THAT(*ending, Catch::Contains("does not show that it knows the job's secret"));
}

TEST_CASE("a bit that is changed on the way ends the connection, and arrives nowhere") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  OverheardConversation talk(address, job);
  talk.change_from_now_on();

  talk.client_sends("learning rate 0.1");

  CHECK(talk.server_received().empty());
  CHECK_THAT(talk.server_ending(), Catch::Contains("the connection was lost"));
}

namespace {

// What a server of the job says of a stranger.
std::string refusal_of(const std::string& address, const JobCredentials& job,
                       const TlsStranger& stranger) {
  Server server(address);
  Ending ending;
  run_all(server.io, stranger.visit(server.acceptor.local_endpoint()),
          serve_one(server.acceptor, job, ending));
  return *ending;
}

}  // namespace

TEST_CASE("a client of TLS without the key, or with another one, is refused") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  const auto refusal = [&](const std::string& identity, const Digest& key) {
    return refusal_of(address, job, {.identity = identity, .key = key, .says = {}});
  };

  CHECK_THAT(refusal("", {}), Catch::Contains("does not show"));
  CHECK_THAT(refusal("Client_identity", tls_key(job)), Catch::Contains("does not speak"));
  CHECK_THAT(refusal("scavenger 99999999999999999999 x", tls_key(job)),
             Catch::Contains("does not speak"));
  CHECK_THAT(refusal("scavenger 2 " + to_hex(job.job_id), tls_key(job)),
             Catch::Contains("protocol version 2, this build speaks 1"));
  CHECK_THAT(refusal(tls_identity(job), sha256({})), Catch::Contains("does not show"));
}

TEST_CASE("an older version of TLS is refused") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  const TlsStranger stranger{
      .identity = tls_identity(job), .key = tls_key(job), .newest_version = 0x0303, .says = {}};

  CHECK_THAT(refusal_of(address, job, stranger), Catch::Contains("unsupported protocol"));
}

TEST_CASE("who has the key still has to say the hello of the job and of its version") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  const auto hello = make_hello(job, fresh_nonce());
  const auto refusal = [&](std::size_t place, std::uint8_t change) {
    TlsStranger stranger{.identity = tls_identity(job), .key = tls_key(job), .says = {}};
    stranger.says.assign(hello.begin(), hello.end());
    stranger.says[place] ^= std::byte{change};
    return refusal_of(address, job, stranger);
  };

  CHECK_THAT(refusal(0, 1), Catch::Contains("does not speak"));
  CHECK_THAT(refusal(8, 3), Catch::Contains("protocol version 2"));
  CHECK_THAT(refusal(12, 1), Catch::Contains("another job"));
}

TEST_CASE("a server that shows a certificate instead of the key is not believed") {
  REQUIRE_OUTER_ADDRESS(address);
  Server server(address);
  Ending ending;

  run_all(server.io, serve_with_a_certificate(server.acceptor),
          join(server.endpoint, JobCredentials::generate(), kTlsPatience, ending));

  CHECK_THAT(*ending, Catch::Contains("the server does not show that it knows the job's secret"));
}
