// Who may ask a live page for what. Pure: decides by a request's head alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace scavenger::elastic {

// What matters of a request's head; texts are empty if a field is missing.
struct PageRequest {
  std::string method;
  std::string target;  // "/events", "/?token=..."
  std::string host;
  std::string origin;
  std::string cookie;
  std::string authorization;
  std::string content_type;
  std::string fetch_site;  // Sec-Fetch-Site
};

struct PageAccess {
  std::string token;
  std::uint16_t port = 0;
  // The server listens on loopback, so it is known by these names only: a page elsewhere whose name
  // was made to point here is refused.
  bool is_loopback = true;
};

enum class PageAnswer { kPage, kEvents, kCommand, kMetrics, kRefused };

struct PageDecision {
  PageAnswer answer = PageAnswer::kRefused;
  unsigned status = 200;      // of a refusal
  std::string reason;         // of a refusal
  bool brings_token = false;  // in its address: the answer sets the cookie
};

// The token is checked first: a request without it learns nothing else.
PageDecision decide(const PageRequest& request, const PageAccess& access);

// "scavenger_8080=TOKEN; HttpOnly; SameSite=Strict; Path=/".
std::string cookie_for(const PageAccess& access);

}  // namespace scavenger::elastic
