#include "cloud_gcp/api/cloud_fault.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

CloudFault of_reply(unsigned status, const json& error) {
  return fault_of_reply(status, json{{"error", error}}.dump());
}

CloudFault of_operation(const std::string& code, const std::string& message = "") {
  return fault_of_operation(
      {{"status", "DONE"},
       {"error", {{"errors", json::array({{{"code", code}, {"message", message}}})}}}});
}

std::string remedy(const CloudFault& fault) {
  return problem_of(fault, "zone us-central1-a", "my-project").remedy;
}

}  // namespace

TEST_CASE("Codes of operations are sorted by what to do about them") {
  for (const char* code :
       {"ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "GPU_STOCKOUT",
        "VM_MIN_COUNT_NOT_REACHED", "UNSUPPORTED_OPERATION"})
    CHECK(of_operation(code).kind == FaultKind::kStockOut);
  CHECK(of_operation("QUOTA_EXCEEDED").kind == FaultKind::kQuota);
  CHECK(of_operation("RESOURCE_OPERATION_RATE_EXCEEDED").kind == FaultKind::kRate);
  CHECK(of_operation("RESOURCE_NOT_READY").kind == FaultKind::kNotReady);
  CHECK(of_operation("INVALID_FIELD_VALUE").kind == FaultKind::kInvalid);
  CHECK(of_operation("IP_SPACE_EXHAUSTED").kind == FaultKind::kPermission);
  CHECK(of_operation("RESOURCE_NOT_FOUND").kind == FaultKind::kNotFound);
  CHECK(of_operation("SOMETHING_NEW").kind == FaultKind::kInvalid);
  CHECK(fault_of_operation({{"httpErrorMessage", "gone"}, {"error", json::object()}}).message ==
        "gone");
}

TEST_CASE("What is not as the API promises is a fault all the same, of whole characters") {
  for (const char* error : {"null", "7", "\"x\"", "[]", R"({"errors":7})", R"({"errors":{"a":1}})"})
    CHECK(
        fault_of_operation({{"error", json::parse(error)}, {"httpErrorMessage", "gone"}}).message ==
        "gone");
  std::string long_text = "x";
  while (long_text.size() < 1000) long_text += "\u00e9";
  const std::string message = of_reply(400, {{"message", long_text}}).message;
  CHECK(message.size() < 401);
  CHECK(json(message).dump().size() > message.size());  // else it throws
}

TEST_CASE("A full quota names the metric, the limit, and where to ask for more") {
  const CloudFault regional =
      of_reply(403, {{"message", "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-west1."},
                     {"errors", json::array({{{"reason", "quotaExceeded"}}})}});
  CHECK(regional.kind == FaultKind::kQuota);
  CHECK(regional.subject == "CPUS");
  CHECK(regional.limit == "24.0");
  CHECK_FALSE(regional.is_global);
  CHECK(
      std::string(CloudError(regional, "zone us-west1-a", "p").what()).find("quota CPUS is 24.0") !=
      std::string::npos);
  CHECK_THAT(remedy(regional), Catch::Contains("quotas?project=my-project"));

  const CloudFault everywhere =
      of_operation("QUOTA_EXCEEDED", "Quota 'GPUS_ALL_REGIONS' exceeded. Limit: 0.0 globally.");
  CHECK(everywhere.is_global);

  const CloudFault detailed =
      fault_of_operation(json::parse(R"({"error": {"errors": [{"code": "QUOTA_EXCEEDED",
      "message": "", "errorDetails": [{"quotaInfo": {"metricName": "compute.googleapis.com/cpus",
      "limitName": "CPUS-per-project-region", "limit": 24.0}}]}]}})"));
  CHECK(detailed.subject == "CPUS-per-project-region");
  CHECK(detailed.limit == "24.0");
}

TEST_CASE("A missing permission is named, and is not taken for a quota or a rate") {
  const CloudFault fault = of_reply(
      403,
      {{"message",
        "Required 'compute.instances.create' permission for 'projects/p/zones/z/instances/vm'"},
       {"errors", json::array({{{"reason", "forbidden"}}})}});
  CHECK(fault.kind == FaultKind::kPermission);
  CHECK(fault.subject == "compute.instances.create");
  CHECK_THAT(remedy(fault),
             Catch::Contains("compute.instances.create") && Catch::Contains("my-project"));
}

TEST_CASE("Rates are told by status or reason, in both forms") {
  CHECK(of_reply(429,
                 {{"status", "RESOURCE_EXHAUSTED"}, {"message", "Quota exceeded for quota metric"}})
            .kind == FaultKind::kRate);
  CHECK(of_reply(403, {{"errors", json::array({{{"reason", "rateLimitExceeded"}}})}}).kind ==
        FaultKind::kRate);
}

TEST_CASE(
    "What a server in trouble says leaves open what it did, unless it says that it has no "
    "machines") {
  CHECK(of_reply(503, {{"message", "try again"}}).kind == FaultKind::kUncertain);
  CHECK(of_reply(500, {{"errors", json::array({{{"reason", "forbidden"}}})}}).kind ==
        FaultKind::kUncertain);
  CHECK(fault_of_reply(502, "<html>Bad Gateway</html>").kind == FaultKind::kUncertain);
  CHECK(of_reply(503, {{"errors", json::array({{{"reason", "insufficientCapacity"}}})}}).kind ==
        FaultKind::kStockOut);
  CHECK(transport_fault("connection reset").kind == FaultKind::kUncertain);
}

TEST_CASE("Other statuses are what HTTP says, and text that is no JSON does no harm") {
  CHECK(fault_of_reply(401, "").kind == FaultKind::kCredentials);
  CHECK(fault_of_reply(404, "[]").kind == FaultKind::kNotFound);
  CHECK(fault_of_reply(400, R"({"error":""})").code == "HTTP 400");
  CHECK(fault_of_reply(409, "{\"error\": {}}").kind == FaultKind::kExists);
  CHECK(fault_of_reply(400, "\xff\xfe").kind == FaultKind::kInvalid);
  CHECK(fault_of_reply(
            400, R"({"error": "invalid_grant", "error_description": "Invalid JWT Signature."})")
            .kind == FaultKind::kCredentials);
}

}  // namespace scavenger::gcp
