// A connection between two processes of a job, as Asio's streams are: in clear where it stays on
// one host, in TLS everywhere else.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "runtime/net/asio.h"
#include "runtime/net/tls.h"

namespace scavenger {

// Whether a connection between these addresses stays on one host: both are loopback's. Both ends
// see the same two addresses, so they decide alike, and nothing that a peer says can change it.
bool stays_on_host(const asio::ip::address& local, const asio::ip::address& remote);

// Thread: as a socket's. At most one read and one write at a time.
class JobSocket final {
 public:
  using executor_type = tcp::socket::executor_type;

  JobSocket(tcp::socket socket) : layer_(std::move(socket)) {}  // in clear

  // Throws boost::system::system_error.
  awaitable<void> connect(tcp::endpoint address);

  // Sets the options of a job's connections and, where it leaves the host, begins TLS: once, before
  // anything is sent. Throws ProtocolError, boost::system::system_error.
  awaitable<void> secure(const JobCredentials& credentials, TlsSide side);

  bool is_encrypted() const { return std::holds_alternative<Tls>(layer_); }
  // For messages: "10.0.0.7:40123", or "somebody" where it has left.
  std::string peer() const;

  bool is_open() const { return socket().is_open(); }
  void close();  // both directions, at once; what is under way ends with an error
  // Closes so that the peer is told that nobody has judged it: it may try again.
  void reset();

  // What Asio asks of a stream.
  executor_type get_executor() { return socket().get_executor(); }
  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    if (auto* tls = std::get_if<Tls>(&layer_))
      return (*tls)->stream().async_read_some(buffers, std::forward<Token>(token));
    return std::get<tcp::socket>(layer_).async_read_some(buffers, std::forward<Token>(token));
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    if (auto* tls = std::get_if<Tls>(&layer_))
      return (*tls)->stream().async_write_some(buffers, std::forward<Token>(token));
    return std::get<tcp::socket>(layer_).async_write_some(buffers, std::forward<Token>(token));
  }

 private:
  using Tls = std::unique_ptr<TlsLayer>;

  tcp::socket& socket();
  const tcp::socket& socket() const;

  std::variant<tcp::socket, Tls> layer_;
};

}  // namespace scavenger
