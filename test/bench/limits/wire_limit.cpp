// The wire limit beside a synchronisation over TCP: the same bytes through the same kind of sockets
// with nothing computed. Each worker sends its gradient to the server in pieces of 1 MiB, which
// answers a piece to all workers when it has had it from all. Processes of a crew (crew.py).
//
//   wire_limit server FLOATS WORKERS HOST                               says "ready PORT"
//   wire_limit worker FLOATS WORKERS RANK HOST PORT START_LINE

#include <algorithm>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/net/asio.h"
#include "test/bench/timed_turn.h"

namespace scavenger::bench {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

std::size_t piece_at(std::size_t first, std::size_t bytes) {
  return std::min(kPieceBytes, bytes - first);
}

void serve(std::size_t bytes, std::size_t workers, const std::string& host) {
  asio::io_context io;
  tcp::acceptor acceptor(io, {asio::ip::make_address(host), 0});
  std::cout << "ready " << acceptor.local_endpoint().port() << std::endl;
  std::vector<tcp::socket> sockets;
  for (std::size_t k = 0; k < workers; ++k) {
    sockets.push_back(acceptor.accept());
    sockets.back().set_option(tcp::no_delay(true));
  }
  std::vector<char> piece(kPieceBytes);
  boost::system::error_code error;
  while (!error)
    for (std::size_t first = 0; first < bytes && !error; first += kPieceBytes) {
      const asio::mutable_buffer buffer(piece.data(), piece_at(first, bytes));
      for (tcp::socket& socket : sockets) asio::read(socket, buffer, TransferAll{}, error);
      for (tcp::socket& socket : sockets) asio::write(socket, buffer, TransferAll{}, error);
    }
}

void work(std::size_t bytes, std::uint32_t workers, std::uint32_t rank, const std::string& host,
          std::uint16_t port, const std::string& start_line_path) {
  asio::io_context io;
  tcp::socket socket(io);
  socket.connect({asio::ip::make_address(host), port});
  socket.set_option(tcp::no_delay(true));
  std::vector<char> sent(bytes), received(bytes);
  StartLine start_line(start_line_path, rank, workers);
  std::cout << "ready" << std::endl;
  serve_turns(
      start_line, [](std::uint64_t) {},
      [&](std::uint64_t) {
        const auto send = [&] { asio::write(socket, asio::buffer(sent), TransferAll{}); };
        std::jthread sender;  // a piece fits into the sockets' buffers; more would block both sides
        if (bytes > kPieceBytes)
          sender = std::jthread(send);
        else
          send();
        asio::read(socket, asio::buffer(received), TransferAll{});
      });
}

}  // namespace
}  // namespace scavenger::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  using namespace scavenger::bench;
  try {
    if (arguments.size() == 4 && arguments[0] == "server") {
      serve(4 * std::stoull(arguments[1]), std::stoull(arguments[2]), arguments[3]);
      return 0;
    }
    if (arguments.size() == 7 && arguments[0] == "worker") {
      work(4 * std::stoull(arguments[1]), static_cast<std::uint32_t>(std::stoul(arguments[2])),
           static_cast<std::uint32_t>(std::stoul(arguments[3])), arguments[4],
           static_cast<std::uint16_t>(std::stoul(arguments[5])), arguments[6]);
      return 0;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  std::cerr << "usage: wire_limit server FLOATS WORKERS HOST\n"
               "       wire_limit worker FLOATS WORKERS RANK HOST PORT START_LINE\n";
  return 2;
}
