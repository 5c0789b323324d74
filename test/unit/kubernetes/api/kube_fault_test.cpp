#include "kubernetes/api/kube_fault.h"

#include <catch2/catch.hpp>

namespace scavenger::kubernetes {
namespace {

Fault fault(unsigned status, const std::string& reason, const std::string& message) {
  return fault_of_reply(status, R"({"kind": "Status", "reason": ")" + reason +
                                    R"(", "message": ")" + message + "\"}");
}

}  // namespace

TEST_CASE("kube_fault: the three kinds of Forbidden are told apart") {
  CHECK(fault(403, "Forbidden", "pods is forbidden: User u cannot create resource pods").kind ==
        FaultKind::kPermission);
  CHECK(fault(403, "Forbidden", "pods p is forbidden: exceeded quota: team, requested: pods=1")
            .kind == FaultKind::kQuota);
  CHECK(fault(403, "Forbidden", "pods p is forbidden: violates PodSecurity restricted").kind ==
        FaultKind::kPolicy);
}

TEST_CASE("kube_fault: conflicts, expiry and what may pass") {
  CHECK(fault(409, "AlreadyExists", "x").kind == FaultKind::kExists);
  CHECK(fault(409, "Conflict", "x").kind == FaultKind::kConflict);
  CHECK(fault(410, "Expired", "x").kind == FaultKind::kExpired);
  CHECK(is_passing(fault(429, "TooManyRequests", "x")));
  CHECK(is_passing(fault(504, "Timeout", "x")));
  CHECK_FALSE(is_passing(fault(422, "Invalid", "x")));
  CHECK_FALSE(is_passing(fault(401, "Unauthorized", "x")));
}

TEST_CASE("kube_fault: an answer may be no Status, and say when to come again") {
  const Fault strange = fault_of_reply(502, "<html>bad gateway</html>");
  CHECK(strange.kind == FaultKind::kServer);
  CHECK_THAT(strange.message, Catch::Contains("bad gateway"));
  CHECK(fault_of_reply(429, "{}", 7.0).retry_after_seconds == 7.0);
  CHECK(fault_of_reply(429, R"({"details": {"retryAfterSeconds": 3}})").retry_after_seconds == 3.0);
}

}  // namespace scavenger::kubernetes
