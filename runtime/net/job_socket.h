// A connection between two processes of a job, with the interface of an Asio stream. It is not
// encrypted if it stays on one host, and encrypted by TLS otherwise.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "runtime/net/asio.h"
#include "runtime/net/tls.h"

namespace scavenger {

// Returns whether a connection between these addresses stays on one host, which means that both are
// loopback addresses. Both ends see the same two addresses, so they come to the same answer, and
// nothing that a peer sends can change it.
bool stays_on_host(const asio::ip::address& local, const asio::ip::address& remote);

// Thread: like an Asio socket. At most one read and one write at a time.
class JobSocket final {
 public:
  using executor_type = tcp::socket::executor_type;

  JobSocket(tcp::socket socket) : layer_(std::move(socket)) {}  // not encrypted

  // Throws boost::system::system_error.
  awaitable<void> connect(tcp::endpoint address);

  // Sets the options of a job's connections and, if the connection leaves the host, starts TLS.
  // Call it once, before anything is sent. Throws ProtocolError, boost::system::system_error.
  awaitable<void> secure(const JobCredentials& credentials, TlsSide side);

  bool is_encrypted() const { return std::holds_alternative<Tls>(layer_); }
  // The peer's address for messages: "10.0.0.7:40123", or "somebody" if it has disconnected.
  std::string peer() const;

  bool is_open() const { return socket().is_open(); }
  void close();  // both directions at once; pending operations end with an error
  // Closes by a TCP reset, which tells the peer that it was not refused and may try again.
  void reset();

  // The interface of an Asio stream.
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
