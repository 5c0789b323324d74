#include "runtime/net/authentication.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr std::array<std::byte, 1> kWelcome = {std::byte{1}};
constexpr double kAttemptSeconds = 5.0;
constexpr auto kPauseBetweenAttempts = std::chrono::milliseconds(20);

// Sockets are real, so these limits are on the clock of Asio's timers, which end each attempt.
double seconds_until(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(moment - std::chrono::steady_clock::now()).count();
}

std::chrono::steady_clock::duration as_duration(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

// Resets a socket when its time is over, so that the operation in flight fails; unless this object
// is destroyed before.
class SocketDeadline final {
 public:
  SocketDeadline(JobSocket& socket, double seconds) : timer_(socket.get_executor()) {
    timer_.expires_after(as_duration(seconds));
    timer_.async_wait([&socket, state = state_](const boost::system::error_code& error) {
      if (error || *state != State::kWatching) return;
      *state = State::kExpired;
      socket.reset();
    });
  }
  ~SocketDeadline() { *state_ = State::kOver; }
  SocketDeadline(const SocketDeadline&) = delete;
  SocketDeadline& operator=(const SocketDeadline&) = delete;

  bool expired() const { return *state_ == State::kExpired; }

 private:
  enum class State { kWatching, kExpired, kOver };
  // The timer may have fired already when this object is destroyed, with its handler still queued.
  std::shared_ptr<State> state_ = std::make_shared<State>(State::kWatching);
  asio::steady_timer timer_;
};

awaitable<void> prove_as_client(JobSocket& socket, const JobCredentials& credentials) {
  const Nonce client_nonce = fresh_nonce();
  const auto hello = make_hello(credentials, client_nonce);
  co_await asio::async_write(socket, asio::buffer(hello), use_awaitable);
  std::array<std::byte, kChallengeBytes> challenge;
  co_await asio::async_read(socket, asio::buffer(challenge), use_awaitable);
  const Nonce server_nonce = check_challenge(challenge, credentials, client_nonce);
  const Digest proof = make_proof(credentials, client_nonce, server_nonce);
  co_await asio::async_write(socket, asio::buffer(proof), use_awaitable);
  std::array<std::byte, 1> verdict;
  co_await asio::async_read(socket, asio::buffer(verdict), use_awaitable);
  if (verdict != kWelcome)
    throw ProtocolError(
        {.what = "the server says that we are not welcome", .where = "handshake", .remedy = {}});
}

awaitable<void> prove_as_server(JobSocket& socket, const JobCredentials& credentials) {
  std::array<std::byte, kHelloBytes> hello;
  co_await asio::async_read(socket, asio::buffer(hello), use_awaitable);
  const Nonce client_nonce = check_hello(hello, credentials);
  const Nonce server_nonce = fresh_nonce();
  const auto challenge = make_challenge(credentials, client_nonce, server_nonce);
  co_await asio::async_write(socket, asio::buffer(challenge), use_awaitable);
  std::array<std::byte, kProofBytes> proof;
  co_await asio::async_read(socket, asio::buffer(proof), use_awaitable);
  check_proof(proof, credentials, client_nonce, server_nonce);
  co_await asio::async_write(socket, asio::buffer(kWelcome), use_awaitable);
}

// One attempt to connect and authenticate.
struct Attempt {
  explicit Attempt(tcp::socket unconnected) : socket(std::move(unconnected)) {}

  awaitable<void> run(tcp::endpoint address, const JobCredentials& credentials, double seconds);

  // A peer that refuses us closes the connection in order, or sends an alert. A reset comes from a
  // peer that does not listen yet, or that has dropped us to make room for others. Our own limit
  // may have expired, too.
  bool judged() const {
    return connected && !expired && error != asio::error::connection_reset &&
           error != asio::error::operation_aborted && error != asio::error::broken_pipe;
  }

  JobSocket socket;
  boost::system::error_code error;
  bool connected = false;
  bool expired = false;
};

awaitable<void> Attempt::run(tcp::endpoint address, const JobCredentials& credentials,
                             double seconds) {
  SocketDeadline deadline(socket, seconds);
  try {
    co_await socket.connect(address);
    connected = true;
    co_await socket.secure(credentials, TlsSide::kClient);
    co_await prove_as_client(socket, credentials);
  } catch (const boost::system::system_error& failure) {
    error = failure.code();
    expired = deadline.expired();
  }
}

std::string name_of(const Endpoint& endpoint) {
  return fmt::format("{}:{}", endpoint.host, endpoint.port);
}

asio::ip::address numeric_address(const Endpoint& endpoint) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(endpoint.host, error);
  if (error)
    throw ConnectionError(
        {.what = "this is not a numeric address", .where = name_of(endpoint), .remedy = {}});
  return address;
}

}  // namespace

awaitable<JobSocket> connect_authenticated(Endpoint endpoint, JobCredentials credentials,
                                           double seconds) {
  const auto executor = co_await asio::this_coro::executor;
  const tcp::endpoint address(numeric_address(endpoint), endpoint.port);
  const auto give_up = std::chrono::steady_clock::now() + as_duration(seconds);
  for (;;) {
    Attempt attempt(tcp::socket{executor});
    co_await attempt.run(address, credentials, std::min(kAttemptSeconds, seconds_until(give_up)));
    if (!attempt.error) co_return std::move(attempt.socket);
    if (attempt.judged())
      throw ConnectionError({.what = "the peer ended the handshake: " + attempt.error.message(),
                             .where = name_of(endpoint),
                             .remedy = "it may belong to another job; see its log"});
    if (seconds_until(give_up) <= 0.0)
      throw ConnectionError({.what = "cannot connect: " + attempt.error.message(),
                             .where = name_of(endpoint),
                             .remedy = {}});
    asio::steady_timer pause(executor, kPauseBetweenAttempts);
    co_await pause.async_wait(use_awaitable);
  }
}

awaitable<void> authenticate_client(JobSocket& socket, JobCredentials credentials, double seconds) {
  SocketDeadline deadline(socket, seconds);
  boost::system::error_code error;
  try {
    co_await socket.secure(credentials, TlsSide::kServer);
    co_await prove_as_server(socket, credentials);
    co_return;
  } catch (const boost::system::system_error& failure) {
    error = failure.code();
  } catch (const ProtocolError&) {
    socket.close();
    throw;
  }
  socket.close();
  throw ConnectionError(
      {.what = "a client left before it had proved to know the job's secret: " + error.message(),
       .where = "handshake",
       .remedy = {}});
}

tcp::acceptor listen_on(asio::io_context& io, const Endpoint& endpoint) {
  tcp::acceptor acceptor(io);
  try {
    const tcp::endpoint address(asio::ip::make_address(endpoint.host), endpoint.port);
    acceptor.open(address.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(address);
    acceptor.listen();
  } catch (const boost::system::system_error& failure) {
    const bool is_taken = failure.code() == asio::error::address_in_use;
    throw SystemError({.what = "cannot listen: " + failure.code().message(),
                       .where = name_of(endpoint),
                       .remedy = is_taken ? "end the process that uses the port, or configure "
                                            "another one (0: any free port)"
                                          : "configure a numeric address that this machine has "
                                            "(ip -brief address)"});
  }
  return acceptor;
}

}  // namespace scavenger
