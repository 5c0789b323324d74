#include "cloud_gcp/http.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <cctype>
#include <chrono>
#include <optional>
#include <string_view>

namespace scavenger::gcp {
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
  const Url url = parse_url(request.url);
  const bool is_stranger = stage == HttpError::Stage::kStranger;
  throw HttpError(
      stage,
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
  const Url url = parse_url(from.url);
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

Url parse_url(const std::string& text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    url.is_secure = false;
  } else {
    rest = {};
  }
  const auto slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  url.target = slash == std::string_view::npos ? "/" : std::string(rest.substr(slash));
  const auto colon = authority.rfind(':');
  url.host = authority.substr(0, colon);
  url.port = colon == std::string_view::npos ? (url.is_secure ? "443" : "80")
                                             : std::string(authority.substr(colon + 1));
  if (url.host.empty() || url.port.empty() || text.find_first_of(" \r\n") != std::string::npos)
    throw InputError({.what = fmt::format("\"{}\" is no URL", text),
                      .where = "provider",
                      .remedy = "write https://HOST or https://HOST:PORT"});
  return url;
}

bool is_loopback(const Url& url) {
  return url.host == "localhost" || url.host.starts_with("127.");
}

std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~'))
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", byte);
  }
  return encoded;
}

}  // namespace scavenger::gcp
