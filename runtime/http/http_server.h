// An HTTP/1.1 server: one request for each connection, bounded in size, number and time, so that
// peers which say nothing, much or slowly cost little and keep nobody else out.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/net/asio.h"
#include "runtime/net/authentication.h"

namespace scavenger {

// A request without its body.
struct HttpHead {
  std::string method;
  std::string target;  // "/models?x=1"
  std::vector<std::pair<std::string, std::string>> fields;

  // The value of a header, whose name may be in any case; empty if there is none.
  std::string_view field(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields;  // further headers
};

// What a handler answers on. Both calls throw boost::system::system_error if the peer is gone or
// takes nothing for the server's patience.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual awaitable<void> send(HttpResponse response) = 0;
  // Bytes as they are, for an answer without a known end: the handler writes the head, too.
  virtual awaitable<void> write(std::string bytes) = 0;
};

// Called on the thread that runs the server's io_context.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // The refusal of a stranger or of a wrong request, by its head alone: its body is not kept.
  virtual std::optional<HttpResponse> refuse(const HttpHead& head) = 0;
  // Answers by one send(), or by write(). What it throws closes the connection.
  virtual awaitable<void> answer(HttpHead head, std::string body, HttpConnection& connection) = 0;
};

struct HttpLimits {
  int connections = 64;
  std::uint32_t head_bytes = 8 << 10;
  std::uint64_t body_bytes = 4 << 10;
  std::chrono::milliseconds head_patience{3000};  // with a peer that is not known yet
  std::chrono::milliseconds patience{10000};      // with one that says or takes nothing
};

// Thread: that which runs `io`. The handler must outlive the server, and the server the last run of
// `io`.
class HttpServer final {
 public:
  // Listens at once. Throws SystemError if the address cannot be had.
  HttpServer(asio::io_context& io, const Endpoint& endpoint, const HttpLimits& limits,
             HttpHandler& handler);

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  bool is_on_loopback() const { return acceptor_.local_endpoint().address().is_loopback(); }
  // Takes no more connections; those that there are go on.
  void close() { acceptor_.close(); }

 private:
  class Connection;

  awaitable<void> accept_all();
  awaitable<void> serve(tcp::socket socket);
  awaitable<void> take_request(Connection& connection);
  bool make_room();

  asio::io_context& io_;
  tcp::acceptor acceptor_;
  const HttpLimits limits_;
  HttpHandler& handler_;
  int connections_ = 0;
  std::list<Connection*> strangers_;  // whose head has not been accepted, the oldest first
};

}  // namespace scavenger
