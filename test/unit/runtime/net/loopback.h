// Real sockets on the loopback interface, and coroutines run to their ends.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "runtime/net/asio.h"

namespace scavenger {

// Runs the coroutines until all have ended; rethrows the first failure.
template <typename... Tasks>
void run_all(asio::io_context& io, Tasks... tasks) {
  std::exception_ptr failure;
  std::size_t running = sizeof...(tasks);
  const auto ended = [&](std::exception_ptr error) {
    --running;
    if (error && !failure) failure = error;
  };
  (asio::co_spawn(io, std::move(tasks), ended), ...);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  io.restart();
  while (running > 0 && io.run_one_until(give_up) > 0) {
  }
  const std::size_t still_running = running;
  if (failure) std::rethrow_exception(failure);
  REQUIRE(still_running == 0);
}

// Two ends of one connection.
struct SocketPair {
  explicit SocketPair(asio::io_context& io) : first(io), second(io) {
    tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    first.connect(acceptor.local_endpoint());
    acceptor.accept(second);
  }
  tcp::socket first;
  tcp::socket second;
};

}  // namespace scavenger
