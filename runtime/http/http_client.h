// One HTTP request and its reply: TLS checked against the system's roots, one deadline for all of
// it, bounded.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/net/asio.h"

namespace scavenger {

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http:// or https://
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  double deadline_seconds = 30.0;
};

struct HttpReply {
  unsigned status = 0;
  std::string body;
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

  asio::io_context& io() const { return io_; }

 private:
  struct Roots;

  asio::io_context& io_;
  std::shared_ptr<Roots> roots_;  // read from the system at the first https:// request
};

}  // namespace scavenger
