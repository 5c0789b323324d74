#include "runtime/http/http_server.h"

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <exception>

#include "runtime/base/log.h"
#include "runtime/net/authentication.h"
#include "runtime/net/spawn.h"

namespace scavenger {
namespace {

namespace beast = boost::beast;
using std::chrono::milliseconds;
using BeastParser = beast::http::request_parser<beast::http::string_body>;
using BeastResponse = beast::http::response<beast::http::string_body>;

constexpr std::uint64_t kReadBytes = 64 << 10;         // at a time
constexpr milliseconds kDrainPatience(2000);           // with what a refused peer still sends
constexpr milliseconds kPauseWithoutDescriptors(200);  // when too many files are open

std::string text_of(beast::string_view view) {
  return {view.data(), view.size()};
}

HttpHead head_of(const BeastParser& parser) {
  const auto& request = parser.get();
  HttpHead head{text_of(request.method_string()), text_of(request.target()), {}};
  for (const auto& field : request)
    head.fields.emplace_back(text_of(field.name_string()), text_of(field.value()));
  return head;
}

BeastResponse beast_response(HttpResponse from) {
  BeastResponse response(static_cast<beast::http::status>(from.status), 11);
  response.set(beast::http::field::content_type, from.type);
  for (const auto& [name, value] : from.fields) response.set(name, value);
  response.keep_alive(false);
  response.body() = std::move(from.body);
  response.prepare_payload();
  return response;
}

bool is_too_long(const boost::system::error_code& error) {
  return error == beast::http::error::header_limit ||
         error == beast::http::error::buffer_overflow || error == beast::http::error::body_limit;
}

}  // namespace

std::string_view HttpHead::field(std::string_view name) const {
  for (const auto& [own_name, value] : fields)
    if (beast::iequals(own_name, name)) return value;
  return {};
}

class HttpServer::Connection final : public HttpConnection {
 public:
  Connection(tcp::socket socket, milliseconds patience)
      : stream_(std::move(socket)), patience_(patience) {}

  awaitable<void> send(HttpResponse from) override {
    BeastResponse response = beast_response(std::move(from));
    stream_.expires_after(patience_);
    co_await beast::http::async_write(stream_, response, use_awaitable);
  }
  awaitable<void> write(std::string bytes) override {
    stream_.expires_after(patience_);
    const auto buffer = asio::buffer(bytes);
    co_await asio::async_write(stream_, buffer, use_awaitable);
  }
  // What is unread when a connection is closed would make the peer lose the answer.
  awaitable<void> drain() {
    boost::system::error_code error;
    stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    stream_.expires_after(kDrainPatience);
    std::array<char, 4096> bytes{};
    while (!error)
      co_await stream_.async_read_some(asio::buffer(bytes),
                                       asio::redirect_error(use_awaitable, error));
  }
  void end() {
    boost::system::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }
  beast::tcp_stream& stream() { return stream_; }

 private:
  beast::tcp_stream stream_;
  const milliseconds patience_;
};

HttpServer::HttpServer(asio::io_context& io, const Endpoint& endpoint, const HttpLimits& limits,
                       HttpHandler& handler)
    : io_(io), acceptor_(listen_on(io, endpoint)), limits_(limits), handler_(handler) {
  spawn(io_, accept_all());
}

awaitable<void> HttpServer::accept_all() {
  asio::steady_timer pause(io_);
  for (;;) {
    boost::system::error_code error;
    tcp::socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(use_awaitable, error));
    if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) co_return;
    if (error) {
      pause.expires_after(kPauseWithoutDescriptors);
      co_await pause.async_wait(use_awaitable);
      continue;
    }
    if (connections_ >= limits_.connections && !make_room()) continue;  // and close it
    spawn(io_, serve(std::move(socket)));
  }
}

// Closes the oldest connection of a stranger: however many come and say nothing, whoever is known
// is heard. False if there is none.
bool HttpServer::make_room() {
  if (strangers_.empty()) return false;
  Connection* const oldest = strangers_.front();
  strangers_.pop_front();
  oldest->stream().close();
  return true;
}

awaitable<void> HttpServer::serve(tcp::socket socket) {
  ++connections_;
  Connection connection(std::move(socket), limits_.patience);
  strangers_.push_back(&connection);
  try {
    co_await take_request(connection);
  } catch (const boost::system::system_error&) {  // the peer is gone, or takes nothing
  } catch (const std::exception& error) {
    log_warning("an HTTP request could not be answered: {}", error.what());
  }
  connection.end();
  strangers_.remove(&connection);
  --connections_;
}

awaitable<void> HttpServer::take_request(Connection& connection) {
  beast::tcp_stream& stream = connection.stream();
  beast::flat_buffer buffer(limits_.head_bytes + std::min(limits_.body_bytes, kReadBytes));
  BeastParser parser;
  parser.header_limit(limits_.head_bytes);
  parser.body_limit(limits_.body_bytes);
  stream.expires_after(limits_.head_patience);
  boost::system::error_code error;
  co_await beast::http::async_read_header(stream, buffer, parser,
                                          asio::redirect_error(use_awaitable, error));
  std::optional<HttpResponse> refusal;
  HttpHead head;
  if (!error) {
    head = head_of(parser);
    refusal = handler_.refuse(head);
  }
  if (!error && !refusal) {
    strangers_.remove(&connection);
    stream.expires_after(limits_.patience);
    co_await beast::http::async_read(stream, buffer, parser,
                                     asio::redirect_error(use_awaitable, error));
  }
  if (is_too_long(error)) {
    refusal.emplace();
    refusal->status = 413;
    refusal->body = R"({"error":"the request is too long"})";
  }
  if (refusal) {
    co_await connection.send(std::move(*refusal));
    co_await connection.drain();
  } else if (!error) {
    std::string body = std::move(parser.get().body());
    co_await handler_.answer(std::move(head), std::move(body), connection);
  }
}

}  // namespace scavenger
