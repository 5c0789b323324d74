#include "elastic/model_service/model_service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/http/bearer.h"

namespace scavenger::elastic {
namespace {

using json = nlohmann::json;

constexpr HttpLimits kLimits{.body_bytes = 16 << 20};
constexpr std::size_t kTokenBytes = 32;
const std::string kModels = "/models";

ServiceAnswer refusal(unsigned status, const std::string& reason) {
  // A reason may repeat what was sent, which need not be UTF-8.
  return {status, json_text(json{{"error", reason}}, {.broken_utf8 = BrokenUtf8::kReplace})};
}

HttpResponse response_of(ServiceAnswer answer) {
  HttpResponse response;
  response.status = answer.status;
  response.body = std::move(answer.body);
  return response;
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
    return fit ? ServiceAnswer{200, *fit} : refusal(404, "there is no fit of this model");
  }
  if (method == "PUT" && is_fit) {
    if (!try_parse_json(body)) return refusal(400, "a fit is a JSON document");
    if (!store.find(id)) return refusal(404, "there is no such model");
    store.record_fit(id, body);
    return {200, "{}"};
  }
  if (method == "GET") {
    const auto record = store.find(id);
    return record ? ServiceAnswer{200, perfmodel::to_json_text(*record)}
                  : refusal(404, "there is no such model");
  }
  if (method == "DELETE")
    return store.forget(id) ? ServiceAnswer{200, "{}"} : refusal(404, "there is no such model");
  return refusal(405, "use GET or DELETE");
}

}  // namespace

ServiceAnswer answer_request(perfmodel::ModelStore& store, const std::string& method,
                             const std::string& path, const std::string& body) {
  try {
    if (path == kModels && method == "GET") {
      json list = json::array();
      for (const perfmodel::ModelSummary& model : store.list()) list.push_back(summary_json(model));
      return {200, json_text(list)};
    }
    if (path == kModels && method == "POST") {
      store.record(perfmodel::parse_model_record(body, "request"));
      return {200, "{}"};
    }
    if (path == kModels) return refusal(405, "use GET or POST");
    if (!path.starts_with(kModels + "/")) return refusal(404, "there is nothing here");
    std::string id = path.substr(kModels.size() + 1);
    const bool is_fit = id.ends_with("/fit");
    if (is_fit) id.resize(id.size() - 4);
    return answer_about(store, method, id, body, is_fit);
  } catch (const InputError& error) {
    return refusal(400, error.what());
  } catch (const Error& error) {
    return refusal(503, error.what());
  }
}

ModelService::ModelService(asio::io_context& io, const std::string& host, std::uint16_t port,
                           std::string token, perfmodel::ModelStore& store)
    : token_(std::move(token)), store_(store), server_(io, {host, port}, kLimits, *this) {}

// Nobody else's body is worth its memory.
std::optional<HttpResponse> ModelService::refuse(const HttpHead& head) {
  if (brings_bearer_token(head.field("Authorization"), token_)) return std::nullopt;
  return response_of(refusal(401, "bring the service's token: Authorization: Bearer TOKEN"));
}

awaitable<void> ModelService::answer(HttpHead head, std::string body, HttpConnection& connection) {
  HttpResponse response = response_of(answer_request(store_, head.method, head.target, body));
  co_await connection.send(std::move(response));
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
                      .remedy = "name a file of your own; one that is not there is made"});
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
                      .remedy = "delete the file: another one is made"});
  return token;
}

}  // namespace scavenger::elastic
