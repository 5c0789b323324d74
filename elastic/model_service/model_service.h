// A store of measurements for jobs on several machines: HTTP and JSON (docs/store.md).
#pragma once

#include <cstdint>
#include <string>

#include "perfmodel/store/model_store.h"
#include "runtime/net/asio.h"

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
class ModelService final {
 public:
  // Listens at once. Throws SystemError where the address cannot be had. Who does not bring the
  // token learns nothing.
  ModelService(asio::io_context& io, const std::string& host, std::uint16_t port, std::string token,
               perfmodel::ModelStore& store);

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  awaitable<void> accept_all();
  awaitable<void> serve(tcp::socket socket);

  asio::io_context& io_;
  tcp::acceptor acceptor_;
  const std::string token_;
  perfmodel::ModelStore& store_;
  int connections_ = 0;
};

// The token in a file; made, for this user alone, where the file is not there. Throws InputError
// where it is empty, or others may read it.
std::string token_from(const std::string& path, bool make_if_missing);

}  // namespace scavenger::elastic
