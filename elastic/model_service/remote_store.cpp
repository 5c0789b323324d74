#include "elastic/model_service/remote_store.h"

#include <fmt/format.h>

#include <boost/asio/use_future.hpp>
#include <future>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/http/http_client.h"
#include "runtime/net/asio.h"

namespace scavenger::elastic {
namespace {

constexpr double kDeadlineSeconds = 20.0;
constexpr std::string_view kScheme = "http://";

HttpReply ask_and_wait(HttpRequest request) {
  asio::io_context io;
  HttpClient client(io);
  std::future<HttpReply> reply =
      asio::co_spawn(io, client.send(std::move(request)), asio::use_future);
  io.run();
  return reply.get();
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
  HttpReply reply;
  try {
    reply = ask_and_wait({.method = method,
                          .url = where + path,
                          .headers = {{"Authorization", "Bearer " + token_}},
                          .body = body,
                          .deadline_seconds = kDeadlineSeconds});
  } catch (const HttpError& error) {
    throw ConnectionError({.what = "the model service does not answer: " + error.cause(),
                           .where = where,
                           .remedy = "start it there: scavenger-plan serve"});
  }
  if (reply.status == 200) return std::move(reply.body);
  if (reply.status == 404) return std::nullopt;
  const auto json = try_parse_json(reply.body).value_or(nullptr);
  const std::string reason = json.is_object() && json.contains("error") && json["error"].is_string()
                                 ? json["error"].get<std::string>()
                                 : fmt::format("it answered {}", reply.status);
  if (reply.status == 503)
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
    const auto list = parse_json(body);
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
