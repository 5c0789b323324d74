// A store of measurements for jobs on several machines: HTTP and JSON (docs/store.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perfmodel/store/model_store.h"
#include "runtime/http/http_server.h"

namespace scavenger::elastic {

// What the service answers; pure but for the store.
struct ServiceAnswer {
  unsigned status = 200;
  std::string body;  // JSON
};
// `path`: "/models/3f2a...". `body`: JSON, for what has one.
ServiceAnswer answer_request(perfmodel::ModelStore& store, const std::string& method,
                             const std::string& path, const std::string& body);

// Thread: that which runs `io`. The store must outlive the service.
class ModelService final : private HttpHandler {
 public:
  // Listens at once. Throws SystemError if the address cannot be had. A request
  // without the token learns nothing.
  ModelService(asio::io_context& io, const std::string& host, std::uint16_t port, std::string token,
               perfmodel::ModelStore& store);

  std::uint16_t port() const { return server_.port(); }

 private:
  std::optional<HttpResponse> refuse(const HttpHead& head) override;
  awaitable<void> answer(HttpHead head, std::string body, HttpConnection& connection) override;

  const std::string token_;
  perfmodel::ModelStore& store_;
  HttpServer server_;
};

// The token in a file; made, for this user alone, if the file is not there. Throws InputError
// if it is empty, or others may read it.
std::string token_from(const std::string& path, bool make_if_missing);

}  // namespace scavenger::elastic
