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
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

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

// Seconds only: a date is not worth the doubt about two clocks.
std::optional<double> seconds_of(std::string_view text) {
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional<double>(seconds) : std::nullopt;
}

HttpReply head_of(const http::response<http::string_body>& from) {
  HttpReply reply;
  reply.status = from.result_int();
  if (const auto found = from.find(http::field::retry_after); found != from.end())
    reply.retry_after_seconds = seconds_of({found->value().data(), found->value().size()});
  return reply;
}

// Hands on each piece as soon as it is there, whatever chunks the server makes.
template <typename Stream>
awaitable<void> hand_on(Stream& stream, beast::flat_buffer& buffer,
                        http::response_parser<http::string_body>& parser, HttpStream& to) {
  while (!parser.is_done()) {
    co_await http::async_read_some(stream, buffer, parser, use_awaitable);
    const std::string piece = std::exchange(parser.get().body(), std::string());
    if (!piece.empty()) to.on_bytes(piece);
  }
}

template <typename Stream>
awaitable<HttpReply> exchange(Stream& stream, Request& request, HttpStream* to) {
  co_await http::async_write(stream, request, use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  if (to == nullptr)
    parser.body_limit(kBodyLimitBytes);
  else
    parser.body_limit(boost::none);
  co_await http::async_read_header(stream, buffer, parser, use_awaitable);
  HttpReply reply = head_of(parser.get());
  if (to != nullptr && reply.status == 200) {
    co_await hand_on(stream, buffer, parser, *to);
    co_return reply;
  }
  parser.body_limit(kBodyLimitBytes);
  co_await http::async_read(stream, buffer, parser, use_awaitable);
  reply.body = std::move(parser.get().body());
  co_return reply;
}

// "[fd00::1]" without its brackets.
std::string bare_host(const Url& url) {
  return url.host.starts_with('[') && url.host.ends_with(']')
             ? url.host.substr(1, url.host.size() - 2)
             : url.host;
}

// Looks up and connects, all before the stream's deadline.
awaitable<void> connect(beast::tcp_stream& stream, const Url& url, double deadline_seconds) {
  tcp::resolver resolver(stream.get_executor());
  asio::steady_timer timer(stream.get_executor(), milliseconds_of(deadline_seconds));
  timer.async_wait([&resolver](const boost::system::error_code& error) {
    if (!error) resolver.cancel();
  });
  const auto addresses = co_await resolver.async_resolve(bare_host(url), url.port, use_awaitable);
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

// Lets a stream be closed as long as there is a connection to close.
class OpenStream final {
 public:
  OpenStream(HttpStream* stream, beast::tcp_stream& connection) : stream_(stream) {
    if (stream_ != nullptr) stream_->close = [&connection] { connection.close(); };
  }
  ~OpenStream() {
    if (stream_ != nullptr) stream_->close = nullptr;
  }
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

 private:
  HttpStream* stream_;
};

}  // namespace

struct HttpClient::Roots {
  ssl::context context{ssl::context::tls_client};

  explicit Roots(const TlsIdentity* identity) {
    SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    context.set_verify_mode(ssl::verify_peer);
    if (identity == nullptr || identity->roots.empty())
      context.set_default_verify_paths();  // SSL_CERT_FILE and SSL_CERT_DIR count
    else
      context.add_certificate_authority(asio::buffer(identity->roots));
    if (identity == nullptr || identity->certificate.empty()) return;
    context.use_certificate_chain(asio::buffer(identity->certificate));
    context.use_private_key(asio::buffer(identity->key), ssl::context::pem);
  }
};

HttpClient::HttpClient(asio::io_context& io) : io_(io) {}
HttpClient::~HttpClient() = default;

std::shared_ptr<HttpClient::Roots> HttpClient::roots_for(
    const std::shared_ptr<const TlsIdentity>& identity) {
  if (roots_ && identity_of_roots_ == identity) return roots_;
  try {
    roots_ = std::make_shared<Roots>(identity.get());
  } catch (const boost::system::system_error& error) {
    throw InputError({.what = "these certificates cannot be used: " + error.code().message(),
                      .where = "TLS",
                      .remedy = "give certificates and a key without a password, in PEM"});
  }
  identity_of_roots_ = identity;
  return roots_;
}

awaitable<HttpReply> HttpClient::send(HttpRequest request) {
  return exchange_with(std::move(request), nullptr);
}

awaitable<HttpReply> HttpClient::receive(HttpRequest request, std::shared_ptr<HttpStream> stream) {
  return exchange_with(std::move(request), std::move(stream));
}

awaitable<HttpReply> HttpClient::exchange_with(HttpRequest from, std::shared_ptr<HttpStream> to) {
  const Url url = parse_url(from.url, "request");
  Request request = make_request(from, url);
  auto stage = HttpError::Stage::kNotSent;
  std::optional<std::string> failure;
  try {
    if (!url.is_secure) {
      beast::tcp_stream stream(io_);
      const OpenStream open(to.get(), stream);
      co_await connect(stream, url, from.deadline_seconds);
      stage = HttpError::Stage::kMaybeDone;
      co_return co_await exchange(stream, request, to.get());
    }
    const std::shared_ptr<Roots> roots = roots_for(from.identity);  // until this request has ended
    beast::ssl_stream<beast::tcp_stream> stream(io_, roots->context);
    const OpenStream open(to.get(), beast::get_lowest_layer(stream));
    const bool is_named = from.identity && !from.identity->server_name.empty();
    const std::string name = is_named ? from.identity->server_name : bare_host(url);
    boost::system::error_code not_an_address;
    asio::ip::make_address(name, not_an_address);  // of an address TLS takes no name
    if (not_an_address && SSL_set_tlsext_host_name(stream.native_handle(), name.c_str()) != 1)
      fail(stage, from, "a host name that TLS does not take");
    stream.set_verify_callback(ssl::host_name_verification(name));
    co_await connect(beast::get_lowest_layer(stream), url, from.deadline_seconds);
    co_await stream.async_handshake(ssl::stream_base::client, use_awaitable);
    stage = HttpError::Stage::kMaybeDone;
    co_return co_await exchange(stream, request, to.get());
  } catch (const boost::system::system_error& error) {
    failure = error.code().message();
    const bool is_tls = error.code().category() == asio::error::get_ssl_category();
    if (is_tls && stage == HttpError::Stage::kNotSent) stage = HttpError::Stage::kStranger;
  }
  fail(stage, from, *failure);
}

}  // namespace scavenger
