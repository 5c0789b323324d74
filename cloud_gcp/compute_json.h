// Requests to Compute Engine and its replies as JSON: field names of
// google/cloud/compute/v1/compute.proto, 64-bit integers as strings, times of RFC 3339.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cloud_gcp/vm_order.h"

namespace scavenger::gcp {

using json = nlohmann::json;

json insert_body(const VmOrder& order);

// All throw ProtocolError for a reply that is not what the API promises.
Instance parse_instance(const json& reply);

struct Operation {
  std::string name;
  std::string type;        // "insert", "delete", "compute.instances.preempted"
  std::string target;      // the VM's name
  std::string request_id;  // clientOperationId
  bool is_done = false;
  bool has_failed = false;
  json raw;  // for fault_of_operation()
};
Operation parse_operation(const json& reply);

// One page of a list.
struct InstancePage {
  std::vector<Instance> instances;
  std::string next_page_token;  // empty: this was the last
};
InstancePage parse_instance_page(const json& reply);

// "2026-11-21T08:35:08.123-07:00" in seconds of Unix time. Throws ProtocolError.
double parse_rfc3339(const std::string& text);

// The last part of a URL: ".../zones/us-central1-a" -> "us-central1-a".
std::string last_part(const std::string& url);

}  // namespace scavenger::gcp
