#include "kubernetes/api/kube_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/json_text.h"
#include "runtime/http/url.h"

namespace scavenger::kubernetes {
namespace {

constexpr int kPageItems = 500;
constexpr int kListsAgain = 3;  // if the pages of a list expire while we read them

Fault fault_of(const HttpError& error) {
  Fault fault;
  fault.message = fmt::format("{} ({})", error.problem().what, error.problem().where);
  if (error.stage() == HttpError::Stage::kNotSent) fault.kind = FaultKind::kUnreachable;
  if (error.stage() == HttpError::Stage::kStranger) fault.kind = FaultKind::kStranger;
  return fault;
}

}  // namespace

KubeClient::KubeClient(asio::io_context& io, ClusterAccess access, const Patience& patience,
                       const Clock& clock)
    : access_(std::move(access)),
      patience_(patience),
      http_(io),
      clock_(clock),
      random_(random_seed(), "kubernetes backoff") {}

awaitable<void> KubeClient::pause(double seconds) {
  asio::steady_timer timer(http_.io(),
                           std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
  co_await timer.async_wait(use_awaitable);
}

// The server's own word counts, and a little more, so that not all come back at once.
double KubeClient::backoff_seconds(Backoff& backoff, const Fault& fault) {
  const double own = backoff.next_seconds(random_);
  return fault.retry_after_seconds ? *fault.retry_after_seconds * (1.0 + 0.2 * random_.uniform())
                                   : own;
}

awaitable<HttpRequest> KubeClient::make_request(std::string method, std::string path) {
  HttpRequest request;
  const Credential credential = co_await access_.credentials->current();
  request.method = std::move(method);
  request.url = access_.server + path;
  request.identity = credential.identity;
  request.headers = {{"Accept", "application/json"}};
  if (!credential.authorization.empty())
    request.headers.emplace_back("Authorization", credential.authorization);
  co_return request;
}

awaitable<KubeClient::Attempt> KubeClient::attempt(std::string method, std::string path,
                                                   std::string body, std::shared_ptr<HttpStream> to,
                                                   double deadline_seconds) {
  Attempt made;
  try {
    HttpRequest request = co_await make_request(std::move(method), std::move(path));
    request.deadline_seconds = deadline_seconds;
    if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    request.body = std::move(body);
    HttpReply reply;
    if (to)
      reply = co_await http_.receive(std::move(request), to);
    else
      reply = co_await http_.send(std::move(request));
    if (reply.status >= 300 || reply.status < 200) {
      made.fault = fault_of_reply(reply.status, reply.body, reply.retry_after_seconds);
      if (made.fault->kind == FaultKind::kCredentials) access_.credentials->forget();
    }
    made.reply = std::move(reply);
  } catch (const HttpError& error) {
    made.fault = fault_of(error);
  } catch (const SystemError& error) {  // a token's file that is being replaced
    made.fault = Fault{.kind = FaultKind::kUnreachable, .message = error.what()};
  } catch (const InputError& error) {
    made.fault = Fault{.kind = FaultKind::kCredentials, .message = error.what()};
  }
  co_return made;
}

awaitable<KubeClient::Attempt> KubeClient::persist(std::string method, std::string path,
                                                   std::string body, double until_seconds) {
  Backoff backoff(patience_.backoff);
  int new_credentials = 3;  // a token may have ended on the way
  for (;;) {
    Attempt made = co_await attempt(method, path, body, nullptr, patience_.call_seconds);
    if (!made.fault) co_return made;
    const bool may_be_old =
        made.fault->kind == FaultKind::kCredentials && made.reply && new_credentials-- > 0;
    if (!may_be_old && !is_passing(*made.fault)) co_return made;
    const double wait = backoff_seconds(backoff, *made.fault);
    if (clock_.now_seconds() + wait >= until_seconds) co_return made;
    co_await pause(wait);
  }
}

awaitable<json> KubeClient::read(std::string method, std::string path, std::string body) {
  const double until = clock_.now_seconds() + patience_.read_seconds;
  const std::string where = path.substr(0, path.find('?'));
  const Attempt made = co_await persist(std::move(method), std::move(path), std::move(body), until);
  if (made.fault) throw KubeError(*made.fault, where);
  auto object = parse_object(made.reply->body);
  if (!object) throw KubeError(Fault{.message = "an answer that is no JSON object"}, where);
  co_return std::move(*object);
}

awaitable<std::optional<json>> KubeClient::find(std::string path) {
  try {
    json object = co_await read("GET", std::move(path), std::string());
    co_return object;
  } catch (const KubeError& error) {
    if (error.fault().kind != FaultKind::kNotFound) throw;
  }
  co_return std::nullopt;
}

awaitable<json> KubeClient::ask(std::string path, json object) {
  std::string body = json_text(object);
  json answer = co_await read("POST", std::move(path), std::move(body));
  co_return answer;
}

awaitable<ObjectList> KubeClient::list(std::string collection, std::string query) {
  const std::string first =
      fmt::format("{}?limit={}{}{}", collection, kPageItems, query.empty() ? "" : "&", query);
  for (int again = 0;; ++again) {
    ObjectList found;
    std::string next;
    bool is_expired = false;
    do {
      std::string path = first;
      if (!next.empty()) path += "&continue=" + percent_encoded(next);
      json page;
      try {
        page = co_await read("GET", std::move(path), std::string());
      } catch (const KubeError& error) {
        if (error.fault().kind != FaultKind::kExpired || again >= kListsAgain) throw;
        is_expired = true;
        break;
      }
      for (const json& item : array_at(page, {"items"})) found.items.push_back(item);
      next = text_at(page, {"metadata", "continue"});
      found.resource_version = text_at(page, {"metadata", "resourceVersion"});
    } while (!next.empty());
    if (!is_expired) co_return found;
  }
}

awaitable<std::string> KubeClient::log_end(std::string pod_path, int lines) {
  std::string path = fmt::format("{}/log?tailLines={}&limitBytes=4000", pod_path, lines);
  const Attempt made =
      co_await attempt("GET", std::move(path), std::string(), nullptr, patience_.call_seconds);
  co_return made.fault ? std::string() : made.reply->body;
}

awaitable<ChangeResult> KubeClient::create(std::string collection, json object) {
  const double until = clock_.now_seconds() + patience_.change_seconds;
  std::string body = json_text(object);
  const Attempt made = co_await persist("POST", std::move(collection), std::move(body), until);
  ChangeResult result;
  if (!made.fault) {
    result.outcome = Outcome::kDone;
    result.object = parse_object(made.reply->body).value_or(json::object());
    co_return result;
  }
  result.fault = made.fault;
  if (made.fault->kind == FaultKind::kExists) {  // by an attempt whose answer did not arrive
    result.outcome = Outcome::kDone;
    co_return result;
  }
  const bool is_refused = !is_passing(*made.fault) && made.fault->kind != FaultKind::kCredentials;
  result.outcome = is_refused ? Outcome::kRefused : Outcome::kUncertain;
  co_return result;
}

awaitable<ChangeResult> KubeClient::remove(std::string path, double grace_seconds) {
  const double until = clock_.now_seconds() + patience_.change_seconds;
  const json options = {{"kind", "DeleteOptions"},
                        {"apiVersion", "v1"},
                        {"gracePeriodSeconds", static_cast<int>(grace_seconds)},
                        {"propagationPolicy", "Background"}};
  std::string body = json_text(options);
  const Attempt made = co_await persist("DELETE", std::move(path), std::move(body), until);
  ChangeResult result;
  if (!made.fault || made.fault->kind == FaultKind::kNotFound) {
    result.outcome = Outcome::kDone;
    co_return result;
  }
  result.fault = made.fault;
  if (!is_passing(*made.fault)) result.outcome = Outcome::kRefused;
  co_return result;
}

awaitable<std::optional<Fault>> KubeClient::stream(std::string path, double limit_seconds,
                                                   std::shared_ptr<HttpStream> to) {
  const Attempt made =
      co_await attempt("GET", std::move(path), std::string(), std::move(to), limit_seconds);
  co_return made.fault;
}

}  // namespace scavenger::kubernetes
