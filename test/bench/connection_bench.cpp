// What one connection carries: frames of one chunk, from one thread to another, in clear on
// loopback and in TLS on another address of this machine. Prints a table; takes ten seconds.
//
//   connection_bench ADDRESS          (an address that is not loopback's)

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "runtime/net/authentication.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/io_thread.h"

namespace scavenger {
namespace {

constexpr std::size_t kFrameBytes = 1 << 20;
constexpr int kFrames = 500;
constexpr int kRounds = 5;

awaitable<void> receive_all(tcp::acceptor& acceptor, JobCredentials job) {
  JobSocket socket(co_await acceptor.async_accept(use_awaitable));
  co_await authenticate_client(socket, job, 10.0);
  auto connection = std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
  std::vector<std::byte> payload(kFrameBytes);
  for (int i = 0; i < kFrames; ++i) {
    co_await connection->receive_header(kFrameBytes);
    co_await connection->receive_payload(payload);
  }
  connection->post({}, {});
  co_await connection->wait_until_queued_at_most(0);
}

awaitable<double> send_all(Endpoint endpoint, JobCredentials job) {
  JobSocket socket = co_await connect_authenticated(endpoint, job, 10.0);
  auto connection = std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
  const std::vector<std::byte> payload(kFrameBytes, std::byte{7});
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kFrames; ++i) {
    connection->post({.type = FrameType::kGradient}, payload);
    co_await connection->wait_until_queued_at_most(8 * kFrameBytes);
  }
  co_await connection->receive_header(0);  // all has arrived
  co_return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

double gigabytes_per_second(const std::string& address) {
  const JobCredentials job = JobCredentials::generate();
  IoThread receiver;
  IoThread sender;
  tcp::acceptor acceptor = listen_on(receiver.context(), {address, 0});
  const Endpoint endpoint{address, acceptor.local_endpoint().port()};
  auto received = asio::co_spawn(receiver.context(), receive_all(acceptor, job), asio::use_future);
  const double seconds =
      asio::co_spawn(sender.context(), send_all(endpoint, job), asio::use_future).get();
  received.get();
  return static_cast<double>(kFrames) * kFrameBytes / seconds / 1e9;
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  if (argc != 2) {
    fmt::print(stderr, "usage: connection_bench ADDRESS\n");
    return 2;
  }
  std::vector<double> clear, encrypted;
  for (int round = 0; round < kRounds; ++round) {
    clear.push_back(gigabytes_per_second("127.0.0.1"));
    encrypted.push_back(gigabytes_per_second(argv[1]));
  }
  for (auto* numbers : {&clear, &encrypted}) {
    std::ranges::sort(*numbers);
    fmt::print("{:10} {:.2f} GB/s  (median of {}; {:.2f} to {:.2f})\n",
               numbers == &clear ? "in clear" : "in TLS", (*numbers)[kRounds / 2], kRounds,
               numbers->front(), numbers->back());
  }
}
