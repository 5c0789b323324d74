// Why an API server did not do what it was asked for, and what that means for us. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger::kubernetes {

enum class FaultKind {
  kRate,         // 429: too many requests; or the server asks for time
  kServer,       // 5xx, or no readable answer: it may have been carried out
  kUnreachable,  // it was not sent
  kStranger,     // the server's certificate is not to be trusted
  kCredentials,  // 401: who we are is not known (any more)
  kPermission,   // 403 of RBAC
  kQuota,        // 403 of a ResourceQuota
  kPolicy,       // 403 of an admission plug-in: such a pod is not allowed here
  kNotFound,     // 404
  kExists,       // 409 AlreadyExists
  kConflict,     // 409, any other
  kExpired,      // 410: this resource version is too old
  kInvalid,      // 400, 422, ...: the same request never succeeds
};

struct Fault {
  FaultKind kind = FaultKind::kServer;
  unsigned status = 0;      // of HTTP; 0: no answer
  std::string reason = {};  // Kubernetes' word: "AlreadyExists"
  std::string message = {};
  std::optional<double> retry_after_seconds = {};
};

// `body`: a Status object, or anything else.
Fault fault_of_reply(unsigned status, std::string_view body,
                     std::optional<double> retry_after_seconds = std::nullopt);

// Whether repeating the same request may help.
bool is_passing(const Fault& fault);

// `where`: "namespace training". Says in the user's words what to do.
Problem problem_of(const Fault& fault, const std::string& where);

// Thrown by calls that had no good answer for too long, or a bad one.
class KubeError final : public ConnectionError {
 public:
  KubeError(Fault fault, const std::string& where)
      : ConnectionError(problem_of(fault, where)), fault_(std::move(fault)) {}
  const Fault& fault() const noexcept { return fault_; }

 private:
  Fault fault_;
};

}  // namespace scavenger::kubernetes
