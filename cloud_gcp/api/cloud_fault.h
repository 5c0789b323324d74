// What went wrong in the cloud, sorted by what to do about it, and said with its remedy.
//
// The kinds and their codes are those that users of the API have reported.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/base/error.h"

namespace scavenger::gcp {

enum class FaultKind {
  kStockOut,     // this zone has no such machine now: another zone or type, and later again
  kQuota,        // the project may not have more of it: not again in this region, or anywhere
  kRate,         // too many requests: wait, repeat
  kNotReady,     // the VM is in between two states: wait, repeat
  kInvalid,      // the request is wrong: repeating does not help
  kPermission,   // this identity may not
  kCredentials,  // who we are is not believed: a new token, once
  kNotFound,
  kExists,       // another request made a VM of that name
  kUnreachable,  // nothing was sent: no connection, or no token
  kUncertain,    // no answer, or a broken one: it may or may not have been done
};

struct CloudFault {
  FaultKind kind = FaultKind::kUncertain;
  std::string code;        // "ZONE_RESOURCE_POOL_EXHAUSTED"
  std::string message;     // theirs
  std::string subject;     // quota: the metric; permission: which is missing. Or empty
  std::string limit;       // quota: how much there is. Or empty
  bool is_global = false;  // quota: of all regions
};

// Of a reply with an HTTP status of 300 or more; `body` as it came, JSON or not.
CloudFault fault_of_reply(unsigned http_status, const std::string& body);
// Of an operation that is done and has failed.
CloudFault fault_of_operation(const nlohmann::json& operation);
// Of a connection that broke, or an answer that did not come.
CloudFault transport_fault(const std::string& what);

// For the user: `where` is what was tried, and `project` who pays.
Problem problem_of(const CloudFault& fault, const std::string& where, const std::string& project);

// Thrown by what reads from the cloud.
class CloudError final : public ConnectionError {
 public:
  CloudError(CloudFault fault, const std::string& where, const std::string& project);
  const CloudFault& fault() const noexcept { return fault_; }

 private:
  CloudFault fault_;
};

// No other zone or type will do.
inline bool is_hopeless(const CloudFault& fault) {
  return fault.kind == FaultKind::kPermission || fault.kind == FaultKind::kCredentials;
}

const char* word_of(FaultKind kind);  // "stock-out", for events and reports

}  // namespace scavenger::gcp
