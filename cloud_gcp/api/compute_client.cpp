#include "cloud_gcp/api/compute_client.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "cloud_gcp/api/identity.h"
#include "cloud_gcp/api/json_text.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/http/url.h"

namespace scavenger::gcp {
namespace {

constexpr const char* kPageSize = "500";
constexpr const char* kCertificate = "certificate";  // the code of a fault

// Repeating the same request helps.
bool is_passing(const CloudFault& fault) {
  return fault.kind == FaultKind::kUncertain || fault.kind == FaultKind::kRate ||
         fault.kind == FaultKind::kNotReady || fault.kind == FaultKind::kUnreachable;
}

// A token may have ended on the way: a few new ones are tried, not more.
class NewTokens final {
 public:
  bool may_help(const CloudFault& fault) {
    return fault.kind == FaultKind::kCredentials && fault.code != kCertificate && left_-- > 0;
  }

 private:
  int left_ = 3;
};

CloudFault fault_of(const HttpError& error) {
  CloudFault fault =
      transport_fault(fmt::format("{} ({})", error.problem().what, error.problem().where));
  if (error.stage() == HttpError::Stage::kNotSent) fault.kind = FaultKind::kUnreachable;
  if (error.stage() == HttpError::Stage::kStranger) {
    fault.kind = FaultKind::kCredentials;
    fault.code = kCertificate;
  }
  return fault;
}

}  // namespace

ComputeClient::ComputeClient(ComputePlace place, const Patience& patience, HttpClient& http,
                             TokenSource& tokens, const Clock& clock)
    : place_(std::move(place)),
      patience_(patience),
      http_(http),
      tokens_(tokens),
      clock_(clock),
      random_(random_seed(), "cloud backoff") {
  while (place_.endpoint.ends_with('/')) place_.endpoint.pop_back();
  const Url endpoint = parse_url(place_.endpoint, "provider");
  if (!endpoint.is_secure && !is_loopback(endpoint))
    throw InputError({.what = fmt::format("{} would carry the token in clear", place_.endpoint),
                      .where = "provider.endpoint",
                      .remedy = "use https://"});
}

std::string ComputeClient::url(const std::string& path) const {
  return fmt::format("{}/compute/v1/projects/{}/{}", place_.endpoint, place_.project, path);
}

Problem ComputeClient::problem(const CloudFault& fault, const std::string& where) const {
  return problem_of(fault, where, place_.project);
}

awaitable<void> ComputeClient::pause(double seconds) {
  asio::steady_timer timer(http_.io(),
                           std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
  co_await timer.async_wait(use_awaitable);
}

awaitable<ComputeClient::Attempt> ComputeClient::attempt(std::string method, std::string url,
                                                         json body, double deadline_seconds) {
  Attempt made;
  HttpRequest request;
  request.method = std::move(method);
  request.url = std::move(url);
  request.deadline_seconds = deadline_seconds;
  if (!body.is_null()) {
    request.body = json_text(body);
    request.headers.emplace_back("Content-Type", "application/json");
  }
  try {
    std::string bearer = "Bearer ";
    bearer += co_await tokens_.token();
    request.headers.emplace_back("Authorization", std::move(bearer));
  } catch (const HttpError& error) {
    made.fault = fault_of(error);
    if (made.fault->code != kCertificate) {
      made.fault->kind = FaultKind::kUnreachable;
      made.fault->code = "no token";
    }
    co_return made;
  }
  try {
    const HttpReply reply = co_await http_.send(std::move(request));
    if (reply.status >= 300) {
      made.fault = fault_of_reply(reply.status, reply.body);
      if (made.fault->kind == FaultKind::kCredentials) tokens_.forget();
      co_return made;
    }
    made.reply = parse_object(reply.body);
    if (!made.reply) made.fault = transport_fault("an answer that is no JSON object");
  } catch (const HttpError& error) {
    made.fault = fault_of(error);
  }
  co_return made;
}

awaitable<json> ComputeClient::read(std::string url) {
  const double until = clock_.now_seconds() + patience_.read_seconds;
  Backoff backoff(patience_.backoff);
  NewTokens new_tokens;
  for (;;) {
    Attempt made = co_await attempt("GET", url, json(), patience_.call_seconds);
    if (made.reply) co_return std::move(*made.reply);
    const bool may_be_old_token = new_tokens.may_help(*made.fault);
    if ((!is_passing(*made.fault) && !may_be_old_token) || clock_.now_seconds() >= until)
      throw CloudError(*made.fault, url.substr(0, url.find('?')), place_.project);
    if (!may_be_old_token) co_await pause(backoff.next_seconds(random_));
  }
}

awaitable<std::vector<json>> ComputeClient::read_pages(std::string path, std::string filter) {
  std::vector<json> pages;
  std::string token;
  do {
    std::string query = fmt::format("?maxResults={}", kPageSize);
    if (!filter.empty()) query += "&filter=" + percent_encoded(filter);
    if (!token.empty()) query += "&pageToken=" + percent_encoded(token);
    json page = co_await read(url(path) + query);
    token = text_in(page, "nextPageToken");
    pages.push_back(std::move(page));
  } while (!token.empty());
  co_return pages;
}

awaitable<std::optional<json>> ComputeClient::read_if_found(std::string url) {
  try {
    json reply = co_await read(std::move(url));
    co_return reply;
  } catch (const CloudError& error) {
    if (error.fault().kind != FaultKind::kNotFound) throw;
  }
  co_return std::nullopt;
}

awaitable<std::optional<Instance>> ComputeClient::find(std::string zone, std::string name) {
  const auto reply = co_await read_if_found(url(fmt::format("zones/{}/instances/{}", zone, name)));
  co_return reply ? std::optional(parse_instance(*reply)) : std::nullopt;
}

awaitable<std::optional<MachineType>> ComputeClient::machine_type(std::string zone,
                                                                  std::string name) {
  const auto reply =
      co_await read_if_found(url(fmt::format("zones/{}/machineTypes/{}", zone, name)));
  co_return reply ? std::optional(parse_machine_type(*reply)) : std::nullopt;
}

awaitable<std::vector<Quota>> ComputeClient::quotas(std::string region) {
  const json reply = co_await read(url("regions/" + region));
  co_return parse_quotas(reply);
}

awaitable<std::vector<Instance>> ComputeClient::list(std::string zone, std::string filter) {
  std::vector<Instance> found;
  const std::vector<json> pages =
      co_await read_pages(fmt::format("zones/{}/instances", zone), std::move(filter));
  for (const json& page : pages)
    for (Instance& instance : parse_instance_page(page).instances)
      found.push_back(std::move(instance));
  co_return found;
}

awaitable<std::optional<std::string>> ComputeClient::guest_attribute(std::string zone,
                                                                     std::string name,
                                                                     std::string attribute) {
  const std::string where =
      url(fmt::format("zones/{}/instances/{}/getGuestAttributes?variableKey={}", zone, name,
                      percent_encoded(attribute)));
  const auto reply = co_await read_if_found(where);
  co_return reply ? std::optional(text_in(*reply, "variableValue")) : std::nullopt;
}

// Metadata is replaced as a whole, under the fingerprint of what was read: where somebody else was
// quicker, or no answer tells what became of it, it is read again.
awaitable<void> ComputeClient::add_metadata(std::string zone, std::string name, std::string key,
                                            std::string value) {
  const double until = clock_.now_seconds() + patience_.operation_seconds;
  const std::string where = url(fmt::format("zones/{}/instances/{}", zone, name));
  const json added = {{"key", key}, {"value", value}};
  Backoff backoff(patience_.backoff);
  for (;;) {
    const json instance = co_await read(where);
    json metadata = instance.value("metadata", json::object());
    json& items = metadata["items"];
    for (const json& item : items)
      if (item == added) co_return;
    items.push_back(added);
    const std::string change_url = where + "/setMetadata?requestId=" + request_id(random_);
    Attempt begun = co_await change("POST", change_url, std::move(metadata), until);
    std::optional<CloudFault> fault = std::move(begun.fault);
    if (begun.reply) {
      const Waited waited = co_await wait(zone, parse_operation(*begun.reply), until);
      if (waited.operation && waited.operation->has_failed)
        fault = fault_of_operation(waited.operation->raw);
    }
    const bool is_refused =
        fault && (fault->kind == FaultKind::kPermission || fault->kind == FaultKind::kCredentials ||
                  fault->kind == FaultKind::kNotFound);
    if (is_refused || clock_.now_seconds() >= until)
      throw CloudError(fault.value_or(transport_fault("metadata that does not change")), where,
                       place_.project);
    if (fault) co_await pause(backoff.next_seconds(random_));
  }
}

awaitable<bool> ComputeClient::was_preempted(std::string zone, std::string name) {
  const std::vector<json> pages = co_await read_pages(
      fmt::format("zones/{}/operations", zone), "operationType = compute.instances.preempted");
  for (const json& page : pages)
    for (const json& item : page.value("items", json::array()))
      if (parse_operation(item).target == name) co_return true;
  co_return false;
}

awaitable<std::string> ComputeClient::console_end(std::string zone, std::string name, int bytes) {
  const auto reply = co_await read_if_found(
      url(fmt::format("zones/{}/instances/{}/serialPort?port=1&start=-{}", zone, name, bytes)));
  co_return reply ? text_in(*reply, "contents") : std::string();
}

awaitable<ComputeClient::Attempt> ComputeClient::change(std::string method, std::string url,
                                                        json body, double until_seconds) {
  Backoff backoff(patience_.backoff);
  NewTokens new_tokens;
  bool may_still_come = false;
  for (;;) {
    Attempt made = co_await attempt(method, url, body, patience_.call_seconds);
    if (made.reply) co_return made;
    const CloudFault& fault = *made.fault;
    const bool may_be_old_token = new_tokens.may_help(fault);
    const bool may_help = is_passing(fault) || may_be_old_token;
    if (!may_help || clock_.now_seconds() >= until_seconds) {
      made.may_still_come = may_still_come;
      co_return made;
    }
    may_still_come = may_still_come || fault.kind == FaultKind::kUncertain;
    if (!may_be_old_token) co_await pause(backoff.next_seconds(random_));
  }
}

awaitable<ComputeClient::Waited> ComputeClient::wait(std::string zone, Operation operation,
                                                     double until_seconds) {
  Waited waited;
  Backoff backoff(patience_.backoff);
  const std::string where = url(fmt::format("zones/{}/operations/{}/wait", zone, operation.name));
  NewTokens new_tokens;
  while (!operation.is_done) {
    if (clock_.now_seconds() >= until_seconds) co_return waited;
    Attempt made = co_await attempt("POST", where, json(), patience_.wait_seconds);
    if (made.reply) {
      operation = parse_operation(*made.reply);
      // It may answer at once, though there is nothing new.
      if (!operation.is_done) co_await pause(backoff.next_seconds(random_));
      continue;
    }
    const bool may_be_old_token = new_tokens.may_help(*made.fault);
    waited.fault = std::move(made.fault);
    if (!is_passing(*waited.fault) && !may_be_old_token) co_return waited;
    co_await pause(backoff.next_seconds(random_));
  }
  waited.operation = std::move(operation);
  co_return waited;
}

awaitable<std::optional<bool>> ComputeClient::exists(std::string zone, std::string name) {
  try {
    const auto instance = co_await find(zone, name);
    co_return instance.has_value();
  } catch (const ConnectionError&) {
  }
  co_return std::nullopt;
}

awaitable<bool> ComputeClient::all_exist(std::string zone, std::vector<std::string> names) {
  for (const std::string& name : names) {
    const auto is_there = co_await exists(zone, name);
    if (!is_there.value_or(false)) co_return false;
  }
  co_return true;
}

awaitable<ChangeResult> ComputeClient::insert(VmOrder order, std::string request_id) {
  std::string where = url(fmt::format("zones/{}/instances?requestId={}", order.zone, request_id));
  json body = insert_body(order);
  std::vector<std::string> names = {order.name};
  return create(std::move(order.zone), std::move(where), std::move(body), std::move(names));
}

awaitable<ChangeResult> ComputeClient::bulk_insert(VmOrder order, std::vector<std::string> names,
                                                   std::string request_id) {
  std::string where =
      url(fmt::format("zones/{}/instances/bulkInsert?requestId={}", order.zone, request_id));
  json body = bulk_insert_body(order, names);
  return create(std::move(order.zone), std::move(where), std::move(body), std::move(names));
}

awaitable<ChangeResult> ComputeClient::create(std::string zone, std::string method_url, json body,
                                              std::vector<std::string> names) {
  const double until = clock_.now_seconds() + patience_.operation_seconds;
  Backoff backoff(patience_.backoff);
  ChangeResult result;
  while (result.outcome == Outcome::kUncertain) {
    Attempt begun = co_await change("POST", method_url, body, until);
    if (begun.reply) {
      const Waited waited = co_await wait(zone, parse_operation(*begun.reply), until);
      if (waited.operation && !waited.operation->has_failed) result.outcome = Outcome::kDone;
      if (waited.operation && waited.operation->has_failed) {
        result.outcome = Outcome::kRefused;
        result.fault = fault_of_operation(waited.operation->raw);
        result.may_be_partial = names.size() > 1;
      }
      if (!waited.operation && waited.fault && waited.fault->kind == FaultKind::kPermission)
        result = {.outcome = Outcome::kRefused, .fault = waited.fault, .may_still_come = true};
    } else if (begun.fault->kind == FaultKind::kExists) {
      result.outcome = Outcome::kDone;
    } else if (begun.fault->kind != FaultKind::kUncertain) {
      result.outcome = Outcome::kRefused;
      result.fault = begun.fault;
      result.may_still_come = begun.may_still_come;
    } else {
      result.fault = begun.fault;
    }
    if (result.outcome != Outcome::kUncertain) break;
    const bool are_there = co_await all_exist(zone, names);
    if (are_there) result.outcome = Outcome::kDone;
    if (!result.fault) result.fault = transport_fault("the operation cannot be followed");
    if (clock_.now_seconds() >= until) break;
    if (!are_there) co_await pause(backoff.next_seconds(random_));
  }
  if (result.outcome == Outcome::kDone) result.fault.reset();
  co_return result;
}

awaitable<ChangeResult> ComputeClient::remove(std::string zone, std::string name,
                                              std::string request_id) {
  const double until = clock_.now_seconds() + patience_.operation_seconds;
  const std::string where =
      url(fmt::format("zones/{}/instances/{}?requestId={}", zone, name, request_id));
  ChangeResult result;
  while (result.outcome == Outcome::kUncertain) {
    bool is_said_to_be_gone = false;
    Attempt begun = co_await change("DELETE", where, json(), until);
    if (begun.reply) {
      const Waited waited = co_await wait(zone, parse_operation(*begun.reply), until);
      is_said_to_be_gone = waited.operation && !waited.operation->has_failed;
      if (waited.operation && waited.operation->has_failed) {
        // Under this request id it will always be the same operation.
        result.fault = fault_of_operation(waited.operation->raw);
        result.outcome = Outcome::kRefused;
      }
    } else {
      result.fault = begun.fault;
      if (begun.fault->kind != FaultKind::kUncertain && begun.fault->kind != FaultKind::kNotFound)
        result.outcome = Outcome::kRefused;
    }
    // What counts is not what was said of the deletion, but that the VM is gone, where we may see
    // that.
    const auto is_there = co_await exists(zone, name);
    if (is_there ? !*is_there : is_said_to_be_gone) result.outcome = Outcome::kDone;
    if (clock_.now_seconds() >= until) break;
    if (result.outcome == Outcome::kUncertain) co_await pause(patience_.backoff.initial_seconds);
  }
  if (result.outcome == Outcome::kDone)
    result.fault.reset();
  else if (!result.fault)
    result.fault = transport_fault("the deletion cannot be followed");
  co_return result;
}

}  // namespace scavenger::gcp
