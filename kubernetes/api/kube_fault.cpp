#include "kubernetes/api/kube_fault.h"

#include <fmt/format.h>

#include "kubernetes/api/json_access.h"

namespace scavenger::kubernetes {
namespace {

constexpr std::size_t kShownBytes = 300;  // of an answer that is no Status

bool says(const Fault& fault, const char* part) {
  return fault.message.find(part) != std::string::npos;
}

// RBAC's message is 'pods is forbidden: User "u" cannot create resource "pods" in API group ...'.
FaultKind kind_of_forbidden(const Fault& fault) {
  if (says(fault, "exceeded quota") || says(fault, "failed quota")) return FaultKind::kQuota;
  if (says(fault, " cannot ")) return FaultKind::kPermission;
  return FaultKind::kPolicy;
}

FaultKind kind_of(const Fault& fault) {
  switch (fault.status) {
    case 401:
      return FaultKind::kCredentials;
    case 403:
      return kind_of_forbidden(fault);
    case 404:
      return FaultKind::kNotFound;
    case 408:
    case 429:
      return FaultKind::kRate;
    case 409:
      return fault.reason == "AlreadyExists" ? FaultKind::kExists : FaultKind::kConflict;
    case 410:
      return FaultKind::kExpired;
    default:
      return fault.status >= 500 ? FaultKind::kServer : FaultKind::kInvalid;
  }
}

const char* remedy_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kRate:
    case FaultKind::kServer:
      return "look after the API server: kubectl get --raw /readyz";
    case FaultKind::kUnreachable:
      return "check the network, and the server that the kubeconfig names";
    case FaultKind::kStranger:
      return "nothing was sent; check certificate-authority in the kubeconfig, and the clock";
    case FaultKind::kCredentials:
      return "log in again, or check the user of the kubeconfig's context: kubectl auth whoami";
    case FaultKind::kPermission:
      return "give this account the Role of docs/kubernetes.md: kubectl auth can-i --list";
    case FaultKind::kQuota:
      return "ask for a larger ResourceQuota, or for fewer or smaller workers";
    case FaultKind::kPolicy:
      return "adapt provider.pod_template to what this namespace allows";
    case FaultKind::kNotFound:
      return "check provider.namespace";
    case FaultKind::kExists:
    case FaultKind::kConflict:
    case FaultKind::kExpired:
      return "";
    case FaultKind::kInvalid:
      return "correct the provider section, above all provider.pod_template";
  }
  return "";
}

}  // namespace

Fault fault_of_reply(unsigned status, std::string_view body,
                     std::optional<double> retry_after_seconds) {
  Fault fault;
  fault.status = status;
  fault.retry_after_seconds = retry_after_seconds;
  const auto object = parse_object(body);
  if (object) {
    fault.reason = text_at(*object, {"reason"});
    fault.message = text_at(*object, {"message"});
    const double seconds = number_at(*object, {"details", "retryAfterSeconds"});
    if (seconds > 0.0 && !retry_after_seconds) fault.retry_after_seconds = seconds;
  }
  if (fault.message.empty()) fault.message = std::string(body.substr(0, kShownBytes));
  if (fault.message.empty()) fault.message = "an empty answer";
  fault.kind = kind_of(fault);
  return fault;
}

bool is_passing(const Fault& fault) {
  return fault.kind == FaultKind::kRate || fault.kind == FaultKind::kServer ||
         fault.kind == FaultKind::kUnreachable || fault.kind == FaultKind::kConflict;
}

Problem problem_of(const Fault& fault, const std::string& where) {
  const std::string status = fault.status == 0 ? "" : fmt::format(" ({})", fault.status);
  return {.what = "Kubernetes: " + fault.message + status,
          .where = where,
          .remedy = remedy_of(fault.kind)};
}

}  // namespace scavenger::kubernetes
