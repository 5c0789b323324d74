#include "cloud_gcp/api/cloud_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string_view>
#include <utility>

#include "cloud_gcp/api/json_text.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

constexpr std::size_t kMessageLimit = 400;

struct KnownCode {
  std::string_view code;
  FaultKind kind;
};

constexpr std::array kKnownCodes = {
    KnownCode{"ZONE_RESOURCE_POOL_EXHAUSTED", FaultKind::kStockOut},
    KnownCode{"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", FaultKind::kStockOut},
    KnownCode{"REGION_RESOURCE_POOL_EXHAUSTED", FaultKind::kStockOut},
    KnownCode{"RESOURCE_POOL_EXHAUSTED", FaultKind::kStockOut},
    KnownCode{"insufficientCapacity", FaultKind::kStockOut},
    KnownCode{"GPU_STOCKOUT", FaultKind::kStockOut},
    KnownCode{"VM_MIN_COUNT_NOT_REACHED", FaultKind::kStockOut},
    KnownCode{"UNSUPPORTED_OPERATION",
              FaultKind::kStockOut},  // seen where a VM was preempted while it was made
    KnownCode{"QUOTA_EXCEEDED", FaultKind::kQuota},
    KnownCode{"quotaExceeded", FaultKind::kQuota},
    KnownCode{"rateLimitExceeded", FaultKind::kRate},
    KnownCode{"userRateLimitExceeded", FaultKind::kRate},
    KnownCode{"RESOURCE_OPERATION_RATE_EXCEEDED", FaultKind::kRate},
    KnownCode{"RESOURCE_EXHAUSTED", FaultKind::kRate},
    KnownCode{"RESOURCE_NOT_READY", FaultKind::kNotReady},
    KnownCode{"resourceNotReady", FaultKind::kNotReady},
    KnownCode{"INVALID_FIELD_VALUE", FaultKind::kInvalid},
    KnownCode{"INVALID_USAGE", FaultKind::kInvalid},
    KnownCode{"invalid", FaultKind::kInvalid},
    KnownCode{"RESOURCE_NOT_FOUND", FaultKind::kNotFound},
    KnownCode{"notFound", FaultKind::kNotFound},
    KnownCode{"RESOURCE_ALREADY_EXISTS", FaultKind::kExists},
    KnownCode{"alreadyExists", FaultKind::kExists},
    KnownCode{"IAM_PERMISSION_DENIED", FaultKind::kPermission},
    KnownCode{"forbidden", FaultKind::kPermission},
    KnownCode{"PERMISSIONS_ERROR", FaultKind::kPermission},
    KnownCode{"VM_EXTERNAL_IP_ACCESS_POLICY_CONSTRAINT", FaultKind::kPermission},
    KnownCode{"IP_SPACE_EXHAUSTED", FaultKind::kPermission},
    KnownCode{"authError", FaultKind::kCredentials},
    KnownCode{"UNAUTHENTICATED", FaultKind::kCredentials},
};

std::optional<FaultKind> kind_of_code(const std::string& code) {
  const auto found = std::find_if(kKnownCodes.begin(), kKnownCodes.end(),
                                  [&code](const KnownCode& known) { return known.code == code; });
  return found == kKnownCodes.end() ? std::nullopt : std::optional(found->kind);
}

FaultKind kind_of_status(unsigned http_status) {
  switch (http_status) {
    case 401:
      return FaultKind::kCredentials;
    case 403:
      return FaultKind::kPermission;
    case 404:
      return FaultKind::kNotFound;
    case 409:
      return FaultKind::kExists;
    case 429:
      return FaultKind::kRate;
    default:
      return http_status >= 500 || http_status == 408 ? FaultKind::kUncertain : FaultKind::kInvalid;
  }
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// To whole characters of UTF-8.
std::string shortened(std::string message) {
  if (message.size() <= kMessageLimit) return message;
  std::size_t end = kMessageLimit;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
  message.resize(end);
  return message;
}

std::string first_match(const std::string& text, const char* pattern) {
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

// The particulars that the message has, where the reply has them in no field.
void read_particulars(CloudFault& fault) {
  if (fault.kind == FaultKind::kQuota) {
    if (fault.subject.empty()) fault.subject = first_match(fault.message, "Quota '([^']+)'");
    if (fault.limit.empty()) fault.limit = first_match(fault.message, "Limit: ([0-9.]+)");
    fault.is_global = fault.subject.find("ALL_REGIONS") != std::string::npos ||
                      fault.message.find("ALL_REGIONS") != std::string::npos;
  }
  if (fault.kind == FaultKind::kPermission)
    fault.subject = first_match(fault.message, "'([a-z]+\\.[A-Za-z.]+)'");
}

void read_details(CloudFault& fault, const json& error) {
  const auto details = error.find("errorDetails");
  if (details == error.end() || !details->is_array()) return;
  for (const json& detail : *details) {
    const auto quota = detail.find("quotaInfo");
    if (quota == detail.end() || !quota->is_object()) continue;
    fault.subject = text_of(*quota, "limitName");
    fault.limit = text_of(*quota, "limit");
  }
}

std::string quota_remedy(const CloudFault& fault, const std::string& project) {
  return fmt::format(
      "use fewer or smaller VMs{}, or ask for more of {} at "
      "https://console.cloud.google.com/iam-admin/quotas?project={}",
      fault.is_global ? "" : ", or other regions", fault.subject.empty() ? "it" : fault.subject,
      project);
}

std::string remedy_of(const CloudFault& fault, const std::string& project) {
  switch (fault.kind) {
    case FaultKind::kStockOut:
      return "name more zones or machine types, or use VMs on demand";
    case FaultKind::kQuota:
      return quota_remedy(fault, project);
    case FaultKind::kRate:
      return "fewer jobs of one project at a time; requests were repeated in vain";
    case FaultKind::kNotReady:
      return "try again in a few minutes";
    case FaultKind::kInvalid:
      return "correct this in the configuration's provider section";
    case FaultKind::kPermission:
      return fault.subject.empty()
                 ? fmt::format("give this identity the roles that docs/gcp.md lists, in project {}",
                               project)
                 : fmt::format(
                       "give this identity a role with {} in project {} (docs/gcp.md lists them)",
                       fault.subject, project);
    case FaultKind::kCredentials:
      return "make a new key or token, and check this machine's clock and the project";
    case FaultKind::kNotFound:
      return "check the project, zone, image and network in the configuration";
    case FaultKind::kExists:
      return "scavenger-ctl gcp list shows whose it is";
    case FaultKind::kUnreachable:
      return "check the network and the endpoint";
    case FaultKind::kUncertain:
      return "check the network, then scavenger-ctl gcp list";
  }
  return {};
}

}  // namespace

CloudFault fault_of_reply(unsigned http_status, const std::string& body) {
  CloudFault fault;
  fault.kind = kind_of_status(http_status);
  fault.code = fmt::format("HTTP {}", http_status);
  const json reply = parse_object(body).value_or(json::object());
  const json error = reply.value("error", json());
  if (error.is_string()) {  // of the token endpoint (RFC 6749)
    fault.kind = http_status >= 500 ? FaultKind::kUncertain : FaultKind::kCredentials;
    if (error != "") fault.code = error;
    fault.message = shortened(text_of(reply, "error_description"));
    return fault;
  }
  if (!error.is_object()) {
    fault.message = fmt::format("an answer with status {} and no explanation", http_status);
    return fault;
  }
  fault.message = shortened(text_of(error, "message"));
  std::vector<std::string> codes;
  const auto errors = error.find("errors");
  if (errors != error.end() && errors->is_array())
    for (const json& item : *errors) codes.push_back(text_of(item, "reason"));
  codes.push_back(text_of(error, "status"));
  // What a server says with 5xx is not to be relied on, except that it has no machines.
  for (const std::string& code : codes) {
    const auto kind = kind_of_code(code);
    if (!kind || (http_status >= 500 && *kind != FaultKind::kStockOut)) continue;
    fault.kind = *kind;
    fault.code = code;
    break;
  }
  read_details(fault, error);
  read_particulars(fault);
  return fault;
}

CloudFault fault_of_operation(const json& operation) {
  CloudFault fault;
  fault.kind = FaultKind::kInvalid;
  const json error = operation.value("error", json());
  const auto errors = error.find("errors");
  if (errors == error.end() || !errors->is_array() || errors->empty()) {
    fault.message = text_of(operation, "httpErrorMessage");
    return fault;
  }
  const json& first = errors->front();
  fault.code = text_of(first, "code");
  fault.message = shortened(text_of(first, "message"));
  const json status = operation.value("httpErrorStatusCode", json());
  const unsigned http_status = status.is_number_unsigned() ? status.get<unsigned>() : 400;
  fault.kind = kind_of_code(fault.code).value_or(kind_of_status(http_status));
  read_details(fault, first);
  read_particulars(fault);
  return fault;
}

CloudFault transport_fault(const std::string& what) {
  CloudFault fault;
  fault.code = "no answer";
  fault.message = what;
  return fault;
}

const char* word_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStockOut:
      return "stock-out";
    case FaultKind::kQuota:
      return "quota";
    case FaultKind::kRate:
      return "rate";
    case FaultKind::kNotReady:
      return "not ready";
    case FaultKind::kInvalid:
      return "invalid";
    case FaultKind::kPermission:
      return "permission";
    case FaultKind::kCredentials:
      return "credentials";
    case FaultKind::kNotFound:
      return "not found";
    case FaultKind::kExists:
      return "exists";
    case FaultKind::kUnreachable:
      return "unreachable";
    case FaultKind::kUncertain:
      return "uncertain";
  }
  return "";
}

Problem problem_of(const CloudFault& fault, const std::string& where, const std::string& project) {
  std::string what = fmt::format("Compute Engine: {} ({})", word_of(fault.kind), fault.code);
  if (fault.kind == FaultKind::kQuota && !fault.subject.empty())
    what += fmt::format(": the quota {} is {}", fault.subject,
                        fault.limit.empty() ? "used up" : fault.limit);
  if (!fault.message.empty()) what += ": " + fault.message;
  return {.what = std::move(what), .where = where, .remedy = remedy_of(fault, project)};
}

CloudError::CloudError(CloudFault fault, const std::string& where, const std::string& project)
    : ConnectionError(problem_of(fault, where, project)), fault_(std::move(fault)) {}

}  // namespace scavenger::gcp
