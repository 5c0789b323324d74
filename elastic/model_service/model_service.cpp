#include "elastic/model_service/model_service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/net/authentication.h"
#include "runtime/net/spawn.h"

namespace scavenger::elastic {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using json = nlohmann::json;

constexpr auto kPatience = std::chrono::seconds(10);      // with a client that says nothing
constexpr auto kDrainPatience = std::chrono::seconds(2);  // with what a refused one still sends
constexpr std::uint64_t kBodyLimitBytes = 16 << 20;
constexpr int kConnectionLimit = 64;
constexpr std::size_t kTokenBytes = 32;
const std::string kModels = "/models";

ServiceAnswer refuse(unsigned status, const std::string& reason) {
  // A reason may repeat what was sent, which need not be UTF-8.
  return {status, json{{"error", reason}}.dump(-1, ' ', false, json::error_handler_t::replace)};
}

json summary_json(const perfmodel::ModelSummary& model) {
  return {{"id", model.id},
          {"name", model.name},
          {"parameters", model.parameters},
          {"data_set", model.data_set},
          {"jobs", model.jobs},
          {"configurations", model.configurations},
          {"runs", model.runs},
          {"updated_utc", model.updated_utc}};
}

ServiceAnswer answer_about(perfmodel::ModelStore& store, const std::string& method,
                           const std::string& id, const std::string& body, bool is_fit) {
  if (method == "GET" && is_fit) {
    const auto fit = store.find_fit(id);
    return fit ? ServiceAnswer{200, *fit} : refuse(404, "there is no fit of this model");
  }
  if (method == "PUT" && is_fit) {
    if (!json::accept(body)) return refuse(400, "a fit is a JSON document");
    if (!store.find(id)) return refuse(404, "there is no such model");
    store.record_fit(id, body);
    return {200, "{}"};
  }
  if (method == "GET") {
    const auto record = store.find(id);
    return record ? ServiceAnswer{200, perfmodel::to_json_text(*record)}
                  : refuse(404, "there is no such model");
  }
  if (method == "DELETE")
    return store.forget(id) ? ServiceAnswer{200, "{}"} : refuse(404, "there is no such model");
  return refuse(405, "use GET or DELETE");
}

// Counted however it ends.
class Visit final {
 public:
  explicit Visit(int& count) : count_(count) { ++count_; }
  ~Visit() { --count_; }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  int& count_;
};

std::string text_of(beast::string_view view) {
  return {view.data(), view.size()};
}

bool brings(const std::string& token, std::string_view header) {
  const std::string expected = "Bearer " + token;
  return header.size() == expected.size() &&
         equal_in_constant_time(std::as_bytes(std::span(header)),
                                std::as_bytes(std::span(expected)));
}

// What is unread when a connection is closed would make the client lose the answer.
awaitable<void> drain(beast::tcp_stream& stream) {
  boost::system::error_code error;
  stream.socket().shutdown(tcp::socket::shutdown_send, error);
  stream.expires_after(kDrainPatience);
  std::array<char, 4096> bytes{};
  while (!error)
    co_await stream.async_read_some(asio::buffer(bytes),
                                    asio::redirect_error(use_awaitable, error));
}

}  // namespace

ServiceAnswer answer_request(perfmodel::ModelStore& store, const std::string& method,
                             const std::string& path, const std::string& body) {
  try {
    if (path == kModels && method == "GET") {
      json list = json::array();
      for (const perfmodel::ModelSummary& model : store.list()) list.push_back(summary_json(model));
      return {200, list.dump()};
    }
    if (path == kModels && method == "POST") {
      store.record(perfmodel::parse_model_record(body, "request"));
      return {200, "{}"};
    }
    if (path == kModels) return refuse(405, "use GET or POST");
    if (!path.starts_with(kModels + "/")) return refuse(404, "there is nothing here");
    std::string id = path.substr(kModels.size() + 1);
    const bool is_fit = id.ends_with("/fit");
    if (is_fit) id.resize(id.size() - 4);
    return answer_about(store, method, id, body, is_fit);
  } catch (const InputError& error) {
    return refuse(400, error.what());
  } catch (const Error& error) {
    return refuse(503, error.what());
  }
}

ModelService::ModelService(asio::io_context& io, const std::string& host, std::uint16_t port,
                           std::string token, perfmodel::ModelStore& store)
    : io_(io), acceptor_(listen_on(io, {host, port})), token_(std::move(token)), store_(store) {
  spawn(io_, accept_all());
}

awaitable<void> ModelService::accept_all() {
  asio::steady_timer pause(io_);
  for (;;) {
    boost::system::error_code error;
    tcp::socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(use_awaitable, error));
    if (error == asio::error::operation_aborted) co_return;
    if (error || connections_ >= kConnectionLimit) {
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(use_awaitable);
      continue;
    }
    spawn(io_, serve(std::move(socket)));
  }
}

awaitable<void> ModelService::serve(tcp::socket socket) {
  const Visit visit(connections_);
  beast::tcp_stream stream(std::move(socket));
  try {
    beast::flat_buffer buffer;
    http::request_parser<http::string_body> parser;
    parser.body_limit(kBodyLimitBytes);
    stream.expires_after(kPatience);
    co_await http::async_read_header(stream, buffer, parser, use_awaitable);
    const auto header = parser.get()[http::field::authorization];
    const bool is_known = brings(token_, {header.data(), header.size()});
    ServiceAnswer answer = refuse(401, "bring the service's token: Authorization: Bearer TOKEN");
    if (is_known) {  // nobody else's body is worth its memory
      stream.expires_after(kPatience);
      co_await http::async_read(stream, buffer, parser, use_awaitable);
      const http::request<http::string_body> request = parser.release();
      answer = answer_request(store_, text_of(request.method_string()), text_of(request.target()),
                              request.body());
    }
    http::response<http::string_body> response(static_cast<http::status>(answer.status), 11);
    response.set(http::field::content_type, "application/json");
    response.keep_alive(false);
    response.body() = std::move(answer.body);
    response.prepare_payload();
    stream.expires_after(kPatience);
    co_await http::async_write(stream, response, use_awaitable);
    if (!is_known) co_await drain(stream);
  } catch (const boost::system::system_error& error) {
    log_info("a client of the model service was lost: {}", error.what());
  }
  boost::system::error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
}

std::string token_from(const std::string& path, bool make_if_missing) {
  if (!std::filesystem::exists(path) && make_if_missing) {
    std::vector<std::byte> secret(kTokenBytes);
    fill_with_secret_bytes(secret);
    const std::string token = to_hex(secret);
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0 ||
        ::write(file.get(), token.data(), token.size()) != static_cast<ssize_t>(token.size()))
      throw SystemError(errno, {.what = "cannot write the token", .where = path, .remedy = {}});
    return token;
  }
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (is_there && status.st_uid != ::geteuid())
    throw InputError({.what = "the token's file belongs to another user, who knows it",
                      .where = path,
                      .remedy = "name a file of your own: scavenger-plan serve makes a new one"});
  if (is_there && (status.st_mode & 0077) != 0)
    throw InputError({.what = "others may read the token",
                      .where = path,
                      .remedy = "chmod 600, and make a new one if somebody did"});
  std::string token = read_file(path);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  if (token.size() < 16)
    throw InputError({.what = "the token is too short",
                      .where = path,
                      .remedy = "delete the file: scavenger-plan serve makes a new one"});
  return token;
}

}  // namespace scavenger::elastic
