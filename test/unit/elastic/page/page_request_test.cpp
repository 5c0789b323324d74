#include "elastic/page/page_request.h"

#include <catch2/catch.hpp>

namespace scavenger::elastic {
namespace {

const PageAccess kAccess{.token = "0123456789abcdef", .port = 8080, .is_loopback = true};

PageRequest get(const std::string& target) {
  PageRequest request;
  request.method = "GET";
  request.target = target;
  request.host = "127.0.0.1:8080";
  request.cookie = "scavenger_8080=0123456789abcdef";
  return request;
}

PageRequest command() {
  PageRequest request = get("/command");
  request.method = "POST";
  request.content_type = "application/json";
  request.origin = "http://127.0.0.1:8080";
  request.fetch_site = "same-origin";
  return request;
}

unsigned refusal(const PageRequest& request, const PageAccess& access = kAccess) {
  const PageDecision decision = decide(request, access);
  return decision.answer == PageAnswer::kRefused ? decision.status : 0;
}

}  // namespace

TEST_CASE("Who brings the token is answered, however it is brought") {
  PageRequest by_address = get("/?token=0123456789abcdef");
  by_address.cookie.clear();
  PageRequest by_header = get("/metrics");
  by_header.cookie.clear();
  by_header.authorization = "Bearer 0123456789abcdef";
  PageRequest among_others = get("/events");
  among_others.cookie = "a=b; scavenger_80=x;scavenger_8080=0123456789abcdef; c=d";

  CHECK(decide(by_address, kAccess).answer == PageAnswer::kPage);
  CHECK(decide(by_address, kAccess).brings_token);
  CHECK(decide(by_header, kAccess).answer == PageAnswer::kMetrics);
  CHECK(decide(among_others, kAccess).answer == PageAnswer::kEvents);
  CHECK(decide(get("/"), kAccess).answer == PageAnswer::kPage);
  CHECK_FALSE(decide(get("/"), kAccess).brings_token);
  CHECK(decide(command(), kAccess).answer == PageAnswer::kCommand);
}

TEST_CASE("Who brings no token, or a wrong one, learns nothing") {
  for (const char* target : {"/", "/events", "/command", "/metrics", "/nothing",
                             "/?token=0123456789abcdeX", "/?token=", "/?token=0123456789abcdef0"}) {
    PageRequest request = get(target);
    request.cookie.clear();
    CHECK(refusal(request) == 401);
    request.cookie = "scavenger_8080=";
    CHECK(refusal(request) == 401);
    request.cookie = "xscavenger_8080=0123456789abcdef";
    CHECK(refusal(request) == 401);
    request.authorization = "Bearer ";
    CHECK(refusal(request) == 401);
    request.authorization = "0123456789abcdef";
    CHECK(refusal(request) == 401);
  }
}

TEST_CASE("A command from another site's page is refused, with the cookie too") {
  PageRequest by_script = command();
  by_script.fetch_site = "cross-site";
  PageRequest by_neighbour = command();
  by_neighbour.fetch_site = "same-site";
  PageRequest by_old_browser = command();
  by_old_browser.fetch_site.clear();
  by_old_browser.origin = "http://evil.example";
  PageRequest by_form = command();
  by_form.content_type = "text/plain";
  PageRequest by_sandbox = command();
  by_sandbox.fetch_site.clear();
  by_sandbox.origin = "null";
  PageRequest by_link = command();
  by_link.method = "GET";

  CHECK(refusal(by_script) == 403);
  CHECK(refusal(by_neighbour) == 403);
  CHECK(refusal(by_old_browser) == 403);
  CHECK(refusal(by_sandbox) == 403);
  CHECK(refusal(by_form) == 415);
  CHECK(refusal(by_link) == 405);
}

TEST_CASE("Data are not for another site's script, but the page may be opened from a link") {
  PageRequest events = get("/events");
  events.fetch_site = "cross-site";
  PageRequest page = get("/?token=0123456789abcdef");
  page.fetch_site = "cross-site";

  CHECK(refusal(events) == 403);
  CHECK(refusal(page) == 0);
}

TEST_CASE("A name that was made to point at this machine is refused") {
  PageRequest request = get("/");
  request.host = "evil.example:8080";
  CHECK(refusal(request) == 421);
  request.host = "127.0.0.1:8081";
  CHECK(refusal(request) == 421);
  request.host = "localhost:8080";
  CHECK(refusal(request) == 0);

  PageAccess outside = kAccess;
  outside.is_loopback = false;
  request.host = "vm1.example:8080";
  CHECK(refusal(request, outside) == 0);
}

TEST_CASE("There is nothing but the page, its data, its commands and the metrics") {
  for (const char* target :
       {"/../../etc/passwd", "/%2e%2e/secret", "//etc/passwd", "/events/../x", "/config.json",
        "/checkpoints/", "/events?x", "", "*", "http://127.0.0.1:8080/", "/command/"})
    CHECK(refusal(get(target)) == 404);
  PageRequest request = get("/");
  request.method = "DELETE";
  CHECK(refusal(request) == 405);
  request.method = "OPTIONS";
  CHECK(refusal(request) == 405);
}

TEST_CASE("The cookie is out of reach of scripts and of other sites") {
  CHECK(cookie_for(kAccess) ==
        "scavenger_8080=0123456789abcdef; HttpOnly; SameSite=Strict; Path=/");
}

}  // namespace scavenger::elastic
