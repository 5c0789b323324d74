#include "runtime/net/job_socket.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace scavenger {
namespace {

// A host that vanishes sends no message. TCP therefore probes a connection that was idle for
// `kIdleSeconds`, and gives up if nothing has been acknowledged for `kVanishedSeconds`.
constexpr int kIdleSeconds = 5;
constexpr int kProbeSeconds = 2;
constexpr int kVanishedSeconds = 15;

asio::ip::address unmapped(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address;
}

void notice_a_vanished_host(tcp::socket& socket) {
  socket.set_option(asio::socket_base::keep_alive(true));
  using asio::detail::socket_option::integer;
  socket.set_option(integer<IPPROTO_TCP, TCP_KEEPIDLE>(kIdleSeconds));
  socket.set_option(integer<IPPROTO_TCP, TCP_KEEPINTVL>(kProbeSeconds));
  socket.set_option(integer<IPPROTO_TCP, TCP_USER_TIMEOUT>(kVanishedSeconds * 1000));
}

}  // namespace

bool stays_on_host(const asio::ip::address& local, const asio::ip::address& remote) {
  return unmapped(local).is_loopback() && unmapped(remote).is_loopback();
}

awaitable<void> JobSocket::connect(tcp::endpoint address) {
  co_await socket().async_connect(address, use_awaitable);
}

awaitable<void> JobSocket::secure(const JobCredentials& credentials, TlsSide side) {
  tcp::socket& plain = std::get<tcp::socket>(layer_);
  plain.set_option(tcp::no_delay(true));
  if (stays_on_host(plain.local_endpoint().address(), plain.remote_endpoint().address())) co_return;
  notice_a_vanished_host(plain);
  layer_ = std::make_unique<TlsLayer>(std::move(plain), credentials, side);
  co_await std::get<Tls>(layer_)->handshake();
}

std::string JobSocket::peer() const {
  boost::system::error_code error;
  const auto endpoint = socket().remote_endpoint(error);
  if (error) return "somebody";
  return fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
}

void JobSocket::close() {
  boost::system::error_code ignored;
  socket().shutdown(tcp::socket::shutdown_both, ignored);
  socket().close(ignored);
}

void JobSocket::reset() {
  boost::system::error_code ignored;
  socket().set_option(asio::socket_base::linger(true, 0), ignored);
  socket().close(ignored);
}

tcp::socket& JobSocket::socket() {
  if (auto* tls = std::get_if<Tls>(&layer_)) return (*tls)->stream().next_layer();
  return std::get<tcp::socket>(layer_);
}

const tcp::socket& JobSocket::socket() const {
  if (const auto* tls = std::get_if<Tls>(&layer_)) return (*tls)->stream().next_layer();
  return std::get<tcp::socket>(layer_);
}

}  // namespace scavenger
