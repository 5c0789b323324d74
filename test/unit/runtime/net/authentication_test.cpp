#include "runtime/net/authentication.h"

#include <catch2/catch.hpp>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/net/frame.h"
#include "test/unit/runtime/net/loopback.h"

using namespace scavenger;

namespace {

constexpr double kPatience = 100.0;  // far more than anything here takes

// How one side of a handshake ended: "" or what was wrong.
using Ending = std::optional<std::string>;

awaitable<void> serve(tcp::socket socket, JobCredentials job, double seconds, Ending& ending) {
  try {
    JobSocket admitted(std::move(socket));
    co_await authenticate_client(admitted, job, seconds);
    ending = admitted.is_open() ? "" : "closed";
  } catch (const Error& error) {
    ending = error.what();
  }
}

awaitable<void> join(Endpoint endpoint, JobCredentials job, double seconds, Ending& ending) {
  try {
    const JobSocket admitted = co_await connect_authenticated(endpoint, job, seconds);
    ending = admitted.is_open() ? "" : "closed";
  } catch (const ConnectionError& error) {
    ending = error.what();
  }
}

awaitable<void> accept_and_serve(tcp::acceptor& acceptor, JobCredentials job, Ending& ending) {
  tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
  co_await serve(std::move(socket), job, kPatience, ending);
}

struct BothEndings {
  Ending client;
  Ending server;
};

BothEndings meet(const JobCredentials& of_client, const JobCredentials& of_server) {
  asio::io_context io;
  tcp::acceptor acceptor = listen_on(io, {"127.0.0.1", 0});
  const Endpoint endpoint{"127.0.0.1", acceptor.local_endpoint().port()};
  BothEndings endings;
  run_all(io, join(endpoint, of_client, kPatience, endings.client),
          accept_and_serve(acceptor, of_server, endings.server));
  return endings;
}

// What the server says to a stranger who sends these bytes and then waits; the stranger's socket
// must have been closed by the server.
std::string say_to_server(std::span<const std::byte> bytes, double seconds) {
  asio::io_context io;
  SocketPair sockets(io);
  asio::write(sockets.first, asio::buffer(bytes.data(), bytes.size()));
  Ending ending;
  run_all(io, serve(std::move(sockets.second), JobCredentials::generate(), seconds, ending));
  boost::system::error_code error;
  std::array<std::byte, 1000> rest;
  while (!error) sockets.first.read_some(asio::buffer(rest), error);
  CHECK((error == asio::error::eof || error == asio::error::connection_reset));
  return *ending;
}

}  // namespace

TEST_CASE("members of one job find each other") {
  const JobCredentials job = JobCredentials::generate();

  const BothEndings endings = meet(job, job);

  CHECK(endings.client == "");
  CHECK(endings.server == "");
}

TEST_CASE("a client and a server with different secrets refuse each other") {
  const JobCredentials job = JobCredentials::generate();
  JobCredentials stranger = job;
  stranger.secret = JobCredentials::generate().secret;

  const BothEndings endings = meet(stranger, job);

  CHECK_THAT(*endings.client, Catch::Contains("does not know the job's secret"));
  CHECK_THAT(*endings.server, Catch::Contains("before it had proved"));
}

TEST_CASE("a client of another job is refused, and told so by the end of the connection") {
  const BothEndings endings = meet(JobCredentials::generate(), JobCredentials::generate());

  CHECK_THAT(*endings.server, Catch::Contains("another job"));
  CHECK_THAT(*endings.client, Catch::Contains("ended the handshake"));
}

TEST_CASE("a client that passes over a wrong challenge and sends a proof is refused") {
  const JobCredentials job = JobCredentials::generate();
  JobCredentials stranger = job;
  stranger.secret = JobCredentials::generate().secret;
  asio::io_context io;
  SocketPair sockets(io);
  const Nonce nonce = fresh_nonce();
  asio::write(sockets.first, asio::buffer(make_hello(stranger, nonce)));
  asio::write(sockets.first, asio::buffer(make_proof(stranger, nonce, fresh_nonce())));

  Ending ending;
  run_all(io, serve(std::move(sockets.second), job, kPatience, ending));

  CHECK_THAT(*ending, Catch::Contains("the client does not know the job's secret"));
}

TEST_CASE("a stranger who connects and sends nothing is put out when the time is over") {
  CHECK_THAT(say_to_server({}, 0.05), Catch::Contains("before it had proved"));
}

TEST_CASE("a stranger who stops in the middle of a hello is put out when the time is over") {
  const std::vector<std::byte> half(30);

  CHECK_THAT(say_to_server(half, 0.05), Catch::Contains("before it had proved"));
}

TEST_CASE("a stranger who sends garbage, or a frame of a huge length, is put out at once") {
  std::vector<std::byte> huge(kHelloBytes);
  const auto header = encode(FrameHeader{.payload_bytes = UINT32_MAX});
  std::copy(header.begin(), header.end(), huge.begin());
  const std::vector<std::byte> garbage(100000, std::byte{'x'});

  CHECK_THAT(say_to_server(garbage, kPatience), Catch::Contains("does not speak"));
  CHECK_THAT(say_to_server(huge, kPatience), Catch::Contains("does not speak"));
}

TEST_CASE("a server that says anything but welcome is not a server of the job") {
  const JobCredentials job = JobCredentials::generate();
  asio::io_context io;
  tcp::acceptor acceptor = listen_on(io, {"127.0.0.1", 0});
  Ending ending;
  asio::co_spawn(io, join({"127.0.0.1", acceptor.local_endpoint().port()}, job, kPatience, ending),
                 asio::detached);
  tcp::socket socket(io);
  std::array<std::byte, kHelloBytes> hello;
  std::array<std::byte, 1> verdict = {std::byte{0}};

  acceptor.async_accept(socket, [&](const boost::system::error_code&) {
    asio::async_read(socket, asio::buffer(hello), [&](const boost::system::error_code&, auto) {
      const auto challenge = make_challenge(job, check_hello(hello, job), fresh_nonce());
      asio::write(socket, asio::buffer(challenge));
      asio::write(socket, asio::buffer(verdict));
    });
  });
  io.run_for(std::chrono::minutes(1));

  REQUIRE(ending);
  CHECK_THAT(*ending, Catch::Contains("not welcome"));
}

TEST_CASE("nobody at an endpoint is a lost connection that names it, when the time is over") {
  asio::io_context io;
  std::uint16_t port = 0;
  {
    tcp::acceptor acceptor = listen_on(io, {"127.0.0.1", 0});
    port = acceptor.local_endpoint().port();
  }

  Ending ending;
  run_all(io, join({"127.0.0.1", port}, JobCredentials::generate(), 0.1, ending));

  CHECK_THAT(*ending, Catch::Contains("127.0.0.1:" + std::to_string(port)));
}

TEST_CASE("whose own time is over was not judged by the other side, however far it had come") {
  asio::io_context io;
  const tcp::acceptor silent = listen_on(io, {"127.0.0.1", 0});
  const Endpoint endpoint{"127.0.0.1", silent.local_endpoint().port()};

  for (int trial = 0; trial < 300; ++trial) {
    Ending ending;
    run_all(io, join(endpoint, JobCredentials::generate(), 1e-6 * trial, ending));
    CHECK_THAT(*ending, Catch::Contains("cannot connect"));
  }
}

TEST_CASE("an endpoint without a numeric address is a lost connection that names it") {
  asio::io_context io;

  Ending ending;
  run_all(io, join({"localhorst", 80}, JobCredentials::generate(), kPatience, ending));

  CHECK_THAT(*ending, Catch::Contains("localhorst:80"));
}

TEST_CASE("a port in use is named") {
  asio::io_context io;
  tcp::acceptor acceptor = listen_on(io, {"127.0.0.1", 0});
  const std::uint16_t port = acceptor.local_endpoint().port();

  CHECK_THROWS_WITH(listen_on(io, {"127.0.0.1", port}),
                    Catch::Contains("127.0.0.1:" + std::to_string(port)) &&
                        Catch::Contains("Address already in use"));
}
