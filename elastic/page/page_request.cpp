#include "elastic/page/page_request.h"

#include <fmt/format.h>

#include <array>

#include "runtime/http/bearer.h"

namespace scavenger::elastic {
namespace {

constexpr std::string_view kTokenQuery = "/?token=";

std::string cookie_name(const PageAccess& access) {
  // Cookies do not know ports, and a machine may have several jobs.
  return fmt::format("scavenger_{}", access.port);
}

// "a=1; b=2": the value of one name.
std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return one.substr(name.size() + 1);
  }
  return {};
}

bool is_own_host(const std::string& host, const PageAccess& access) {
  if (!access.is_loopback) return true;
  for (const char* name : {"127.0.0.1", "localhost", "[::1]"})
    if (host == fmt::format("{}:{}", name, access.port)) return true;
  return false;
}

PageDecision refuse(unsigned status, std::string reason) {
  return {.answer = PageAnswer::kRefused,
          .status = status,
          .reason = std::move(reason),
          .brings_token = false};
}

PageDecision allow(PageAnswer answer, bool brings_token) {
  return {.answer = answer, .status = 200, .reason = {}, .brings_token = brings_token};
}

// A browser says where a request comes from; a form or a script of another site must not command.
bool is_from_elsewhere(const PageRequest& request) {
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin" &&
      request.fetch_site != "none")
    return true;
  return !request.origin.empty() && request.origin != "http://" + request.host;
}

}  // namespace

PageDecision decide(const PageRequest& request, const PageAccess& access) {
  if (!is_own_host(request.host, access)) return refuse(421, "this is not the server's name");
  const std::string_view target = request.target;
  const bool in_address =
      target.starts_with(kTokenQuery) && is_token(target.substr(kTokenQuery.size()), access.token);
  const bool in_header = brings_bearer_token(request.authorization, access.token);
  const bool in_cookie = is_token(cookie_value(request.cookie, cookie_name(access)), access.token);
  if (!in_address && !in_header && !in_cookie)
    return refuse(401, "open the page by the address that scavenger-train has printed");
  if (target == "/command") {
    if (request.method != "POST") return refuse(405, "use POST");
    if (is_from_elsewhere(request)) return refuse(403, "commands come from the page itself");
    if (request.content_type != "application/json") return refuse(415, "send application/json");
    return allow(PageAnswer::kCommand, false);
  }
  const bool is_page = target == "/" || in_address;
  if (!is_page && target != "/events" && target != "/metrics")
    return refuse(404, "there is nothing here");
  if (request.method != "GET") return refuse(405, "use GET");
  // The page itself may be opened from a link anywhere; what it reads may not.
  if (is_page) return allow(PageAnswer::kPage, in_address);
  if (is_from_elsewhere(request)) return refuse(403, "data are for the page itself");
  return allow(target == "/events" ? PageAnswer::kEvents : PageAnswer::kMetrics, false);
}

std::string cookie_for(const PageAccess& access) {
  return fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/", cookie_name(access), access.token);
}

}  // namespace scavenger::elastic
