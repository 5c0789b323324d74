#include "runtime/net/job_listener.h"

#include <catch2/catch.hpp>
#include <list>
#include <memory>

#include "runtime/base/error.h"
#include "test/unit/runtime/net/loopback.h"

using namespace scavenger;

namespace {

// Answers every frame with one of the same iteration.
awaitable<void> echo(std::shared_ptr<FrameConnection> connection) {
  for (;;) {
    const FrameHeader header = co_await connection->receive_header(0);
    connection->post(header, {});
  }
}

awaitable<void> ask(Endpoint endpoint, JobCredentials job, double seconds, bool& answered) {
  JobSocket socket = co_await connect_authenticated(endpoint, job, seconds);
  auto connection = std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
  connection->post({.iteration = 7}, {});
  const FrameHeader header = co_await connection->receive_header(0);
  answered = header.iteration == 7;
}

// Lets the first `refusals` clients in no further than the door, then serves one.
awaitable<void> reset_then_serve(tcp::acceptor& acceptor, JobCredentials job, int refusals) {
  for (; refusals > 0; --refusals) {
    JobSocket dropped(co_await acceptor.async_accept(use_awaitable));
    dropped.reset();
  }
  JobSocket socket(co_await acceptor.async_accept(use_awaitable));
  co_await authenticate_client(socket, job, 20.0);
}

awaitable<void> join(Endpoint endpoint, JobCredentials job, double seconds) {
  co_await connect_authenticated(endpoint, job, seconds);
}

}  // namespace

TEST_CASE("silent strangers, however many, keep no member of the job out") {
  asio::io_context io;
  const JobCredentials job = JobCredentials::generate();
  JobListener listener(io, {"127.0.0.1", 0}, job, SIZE_MAX, echo);
  std::list<tcp::socket> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.emplace_back(io).connect({asio::ip::address_v4::loopback(), listener.port()});
    io.poll();
  }

  bool answered = false;
  const auto began = std::chrono::steady_clock::now();
  run_all(io, ask({"127.0.0.1", listener.port()}, job, 20.0, answered));

  CHECK(answered);
  // Less than the time after which a silent stranger is put out anyway.
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::milliseconds(4500));
}

TEST_CASE("a client that was dropped unheard tries again, within its time") {
  asio::io_context io;
  const JobCredentials job = JobCredentials::generate();
  tcp::acceptor acceptor = listen_on(io, {"127.0.0.1", 0});
  const Endpoint endpoint{"127.0.0.1", acceptor.local_endpoint().port()};

  CHECK_NOTHROW(run_all(io, reset_then_serve(acceptor, job, 3), join(endpoint, job, 20.0)));
}

TEST_CASE("a server that takes connections and says nothing takes no more than the client's time") {
  asio::io_context io;
  tcp::acceptor silent = listen_on(io, {"127.0.0.1", 0});
  const Endpoint endpoint{"127.0.0.1", silent.local_endpoint().port()};

  const auto began = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(run_all(io, join(endpoint, JobCredentials::generate(), 0.2)), ConnectionError);

  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(5));  // one attempt's limit
}
