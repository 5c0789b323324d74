// One HTTP request and its reply: TLS checked against the system's roots, one deadline for all of
// it, bounded.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/net/asio.h"

namespace scavenger {

// For a server that the system's roots do not vouch for, or that asks who its client is.
struct TlsIdentity {
  std::string roots;        // certificates in PEM; empty: the system's
  std::string certificate;  // this client's, in PEM, with its chain; empty: none
  std::string key;          // of `certificate`, in PEM
  std::string server_name;  // in the server's certificate; empty: the host of the URL
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http:// or https://
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  double deadline_seconds = 30.0;
  std::shared_ptr<const TlsIdentity> identity = {};  // none: the system's roots, no certificate
};

struct HttpReply {
  unsigned status = 0;
  std::string body;
  std::optional<double> retry_after_seconds = {};  // as the server asks for it
};

// A reply that comes in pieces, until the server ends it or close() is called.
struct HttpStream {
  std::function<void(std::string_view)> on_bytes;  // of the body of a reply of status 200
  std::function<void()> close;  // set while it is open; ends the exchange with an HttpError
};

// There is no reply.
class HttpError final : public ConnectionError {
 public:
  enum class Stage {
    kNotSent,    // the server was not reached: nothing was done
    kStranger,   // its certificate is not to be trusted: nothing was sent, and never will be
    kMaybeDone,  // the request was under way
  };
  HttpError(Stage stage, std::string cause, Problem problem)
      : ConnectionError(std::move(problem)), stage_(stage), cause_(std::move(cause)) {}
  Stage stage() const noexcept { return stage_; }
  const std::string& cause() const noexcept { return cause_; }  // "Connection refused"

 private:
  Stage stage_;
  std::string cause_;
};

// Makes a connection for each request. Thread: the io_context's.
class HttpClient final {
 public:
  explicit HttpClient(asio::io_context& io);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Throws HttpError, and InputError for a URL that is none. The client may be destroyed meanwhile.
  awaitable<HttpReply> send(HttpRequest request);
  // The same, with the body of a good reply handed to `stream` as it comes. Throws as send() does
  // if the reply is cut off.
  awaitable<HttpReply> receive(HttpRequest request, std::shared_ptr<HttpStream> stream);

  asio::io_context& io() const { return io_; }

 private:
  struct Roots;

  awaitable<HttpReply> exchange_with(HttpRequest request, std::shared_ptr<HttpStream> stream);
  std::shared_ptr<Roots> roots_for(const std::shared_ptr<const TlsIdentity>& identity);

  asio::io_context& io_;
  std::shared_ptr<Roots> roots_;  // of the last https:// request
  std::shared_ptr<const TlsIdentity> identity_of_roots_;
};

}  // namespace scavenger
