// Requests to Compute Engine and its replies as JSON: field names of
// google/cloud/compute/v1/compute.proto, 64-bit integers as strings, times of RFC 3339.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cloud_gcp/api/vm_order.h"

namespace scavenger::gcp {

using json = nlohmann::json;

json insert_body(const VmOrder& order);
// VMs like `order` under these names, as many of them as there is room for; order.name is not
// looked at.
json bulk_insert_body(const VmOrder& order, std::span<const std::string> names);

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

// For how long a VM has been charged at `now_seconds`, at most, if it was asked for at
// `asked_seconds` of the same clock: only differences of Compute Engine's own times are used.
double charged_seconds(double asked_seconds, double now_seconds, const Instance& instance);

MachineType parse_machine_type(const json& reply);
std::vector<Quota> parse_quotas(const json& region);

// "2026-11-21T08:35:08.123-07:00" in seconds of Unix time. Throws ProtocolError.
double parse_rfc3339(const std::string& text);

// The last part of a URL: ".../zones/us-central1-a" -> "us-central1-a".
std::string last_part(const std::string& url);

}  // namespace scavenger::gcp
