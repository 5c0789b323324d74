#include "runtime/http/http_client.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <optional>

#include "runtime/http/url.h"

namespace scavenger {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using Request = http::request<http::string_body>;

constexpr std::uint64_t kBodyLimitBytes = std::uint64_t{64} << 20;  // a page of 500 VMs is 2 MiB

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

Request make_request(const HttpRequest& from, const Url& url) {
  Request request(http::string_to_verb(from.method), url.target, 11);
  request.set(http::field::host, url.host);
  request.set(http::field::user_agent, "scavenger");
  request.set(http::field::connection, "close");
  for (const auto& [name, value] : from.headers) request.set(name, value);
  request.body() = from.body;
  request.prepare_payload();
  return request;
}

template <typename Stream>
awaitable<HttpReply> exchange(Stream& stream, Request& request) {
  co_await http::async_write(stream, request, use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kBodyLimitBytes);
  co_await http::async_read(stream, buffer, parser, use_awaitable);
  HttpReply reply;
  reply.status = parser.get().result_int();
  reply.body = std::move(parser.get().body());
  co_return reply;
}

// Looks up and connects, all before the stream's deadline.
awaitable<void> connect(beast::tcp_stream& stream, const Url& url, double deadline_seconds) {
  tcp::resolver resolver(stream.get_executor());
  asio::steady_timer timer(stream.get_executor(), milliseconds_of(deadline_seconds));
  timer.async_wait([&resolver](const boost::system::error_code& error) {
    if (!error) resolver.cancel();
  });
  const auto addresses = co_await resolver.async_resolve(url.host, url.port, use_awaitable);
  timer.cancel();
  stream.expires_after(milliseconds_of(deadline_seconds));
  co_await stream.async_connect(addresses, use_awaitable);
}

[[noreturn]] void fail(HttpError::Stage stage, const HttpRequest& request, const std::string& why) {
  const Url url = parse_url(request.url, "request");
  const bool is_stranger = stage == HttpError::Stage::kStranger;
  throw HttpError(
      stage, why,
      {.what = is_stranger ? "this server is not to be trusted: " + why : "no answer: " + why,
       .where = fmt::format("{}:{}", url.host, url.port),
       .remedy =
           is_stranger
               ? "nothing was sent; check the endpoint, this machine's certificates and its clock"
               : "check the network and the endpoint"});
}

}  // namespace

struct HttpClient::Roots {
  ssl::context context{ssl::context::tls_client};

  Roots() {
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    context.set_default_verify_paths();  // SSL_CERT_FILE and SSL_CERT_DIR count
    context.set_verify_mode(ssl::verify_peer);
  }
};

HttpClient::HttpClient(asio::io_context& io) : io_(io) {}
HttpClient::~HttpClient() = default;

awaitable<HttpReply> HttpClient::send(HttpRequest from) {
  const Url url = parse_url(from.url, "request");
  Request request = make_request(from, url);
  auto stage = HttpError::Stage::kNotSent;
  std::optional<std::string> failure;
  try {
    if (!url.is_secure) {
      beast::tcp_stream stream(io_);
      co_await connect(stream, url, from.deadline_seconds);
      stage = HttpError::Stage::kMaybeDone;
      co_return co_await exchange(stream, request);
    }
    if (!roots_) roots_ = std::make_shared<Roots>();
    const std::shared_ptr<Roots> roots = roots_;  // until this request has ended
    beast::ssl_stream<beast::tcp_stream> stream(io_, roots->context);
    if (SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str()) != 1)
      fail(stage, from, "a host name that TLS does not take");
    stream.set_verify_callback(ssl::host_name_verification(url.host));
    co_await connect(beast::get_lowest_layer(stream), url, from.deadline_seconds);
    co_await stream.async_handshake(ssl::stream_base::client, use_awaitable);
    stage = HttpError::Stage::kMaybeDone;
    co_return co_await exchange(stream, request);
  } catch (const boost::system::system_error& error) {
    failure = error.code().message();
    const bool is_tls = error.code().category() == asio::error::get_ssl_category();
    if (is_tls && stage == HttpError::Stage::kNotSent) stage = HttpError::Stage::kStranger;
  }
  fail(stage, from, *failure);
}

}  // namespace scavenger
