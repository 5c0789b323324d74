#include "elastic/model_service/remote_store.h"

#include <fmt/format.h>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/net/asio.h"

namespace scavenger::elastic {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr auto kReplyPatience = std::chrono::seconds(10);
constexpr std::string_view kScheme = "http://";

awaitable<void> exchange(std::string host, std::string port, Request request, Response& response) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  beast::tcp_stream stream(executor);
  const auto addresses = co_await resolver.async_resolve(host, port, use_awaitable);
  stream.expires_after(kReplyPatience);
  co_await stream.async_connect(addresses, use_awaitable);
  co_await http::async_write(stream, request, use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::uint64_t{64} << 20);
  stream.expires_after(kReplyPatience);
  co_await http::async_read(stream, buffer, parser, use_awaitable);
  response = parser.release();
}

}  // namespace

RemoteStore::RemoteStore(const std::string& url, std::string token) : token_(std::move(token)) {
  std::string rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : "";
  while (rest.ends_with('/')) rest.pop_back();
  const auto colon = rest.rfind(':');
  host_ = rest.substr(0, colon);
  port_ = colon == std::string::npos ? "" : rest.substr(colon + 1);
  if (host_.empty() || port_.empty() || rest.find('/') != std::string::npos)
    throw InputError({.what = fmt::format("\"{}\" is no address of a model service", url),
                      .where = "model_store.url",
                      .remedy = "give http://HOST:PORT, as scavenger-plan serve prints it"});
}

std::optional<std::string> RemoteStore::ask(const std::string& method, const std::string& path,
                                            const std::string& body) {
  const std::string where = fmt::format("http://{}:{}", host_, port_);
  Request request(http::string_to_verb(method), path, 11);
  request.set(http::field::host, host_);
  request.set(http::field::authorization, "Bearer " + token_);
  request.body() = body;
  request.prepare_payload();
  Response response;
  std::exception_ptr failure;
  asio::io_context io;
  asio::co_spawn(io, exchange(host_, port_, std::move(request), response),
                 [&failure](std::exception_ptr error) { failure = std::move(error); });
  io.run();
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    throw ConnectionError({.what = "the model service does not answer: " + error.code().message(),
                           .where = where,
                           .remedy = "start it there: scavenger-plan serve"});
  }
  const unsigned status = response.result_int();
  if (status == 200) return std::move(response.body());
  if (status == 404) return std::nullopt;
  const auto json = nlohmann::json::parse(response.body(), nullptr, false);
  const std::string reason = json.is_object() && json.contains("error") && json["error"].is_string()
                                 ? json["error"].get<std::string>()
                                 : fmt::format("it answered {}", status);
  if (status == 503)
    throw ConnectionError({.what = reason, .where = where, .remedy = "see to its store"});
  throw InputError(
      {.what = reason, .where = where, .remedy = "check token_file, and the versions"});
}

void RemoteStore::record(const perfmodel::ModelRecord& record) {
  ask("POST", "/models", perfmodel::to_json_text(record));
}

std::vector<perfmodel::ModelSummary> RemoteStore::list() {
  const std::string body = ask("GET", "/models").value_or("");
  try {
    std::vector<perfmodel::ModelSummary> models;
    const auto list = nlohmann::json::parse(body);
    for (const auto& model : list)
      models.push_back(
          {model.at("id").get<std::string>(), model.at("name").get<std::string>(),
           model.at("parameters").get<std::uint64_t>(), model.at("data_set").get<std::string>(),
           model.at("jobs").get<std::uint64_t>(), model.at("configurations").get<std::uint64_t>(),
           model.at("runs").get<std::uint64_t>(), model.at("updated_utc").get<std::string>()});
    return models;
  } catch (const nlohmann::json::exception& error) {
    throw ProtocolError({.what = error.what(), .where = "model service", .remedy = {}});
  }
}

std::optional<perfmodel::ModelRecord> RemoteStore::find(const std::string& id) {
  const auto body = ask("GET", "/models/" + id);
  if (!body) return std::nullopt;
  return perfmodel::parse_model_record(*body, "model service");
}

bool RemoteStore::forget(const std::string& id) {
  return ask("DELETE", "/models/" + id).has_value();
}

void RemoteStore::record_fit(const std::string& id, const std::string& json) {
  ask("PUT", "/models/" + id + "/fit", json);
}

std::optional<std::string> RemoteStore::find_fit(const std::string& id) {
  return ask("GET", "/models/" + id + "/fit");
}

}  // namespace scavenger::elastic
