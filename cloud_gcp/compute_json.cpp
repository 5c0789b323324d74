#include "cloud_gcp/compute_json.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <chrono>

#include "runtime/base/error.h"

namespace scavenger::gcp {
namespace {

template <typename Reader>
auto read(const char* what, Reader&& reader) {
  try {
    return reader();
  } catch (const json::exception& error) {
    throw ProtocolError({.what = fmt::format("{} that cannot be read: {}", what, error.what()),
                         .where = "Compute Engine",
                         .remedy = {}});
  }
}

std::string zone_path(const VmOrder& order, const char* kind, const std::string& name) {
  return fmt::format("zones/{}/{}/{}", order.zone, kind, name);
}

json scheduling(const VmOrder& order) {
  const bool is_spot = order.provisioning == Provisioning::kSpot;
  json made = {{"provisioningModel", is_spot ? "SPOT" : "STANDARD"},
               {"instanceTerminationAction", "DELETE"},
               {"maxRunDuration", {{"seconds", std::to_string(order.max_run_seconds)}}}};
  // A VM with GPUs cannot move to another host, and a spot VM may not.
  const bool may_move = !is_spot && order.gpus.count == 0;
  made["onHostMaintenance"] = may_move ? "MIGRATE" : "TERMINATE";
  made["automaticRestart"] = false;  // a job replaces what it lost by itself
  if (is_spot && order.preemption_notice_seconds > 0)
    made["preemptionNoticeDuration"] = {
        {"seconds", std::to_string(order.preemption_notice_seconds)}};
  return made;
}

json network_interface(const NetworkOrder& network) {
  json made = {{"network", network.network}};
  if (!network.subnetwork.empty()) made["subnetwork"] = network.subnetwork;
  if (network.external_address)
    made["accessConfigs"] = json::array({{{"type", "ONE_TO_ONE_NAT"}, {"name", "External NAT"}}});
  return made;
}

VmState state_of(const std::string& status) {
  if (status == "RUNNING") return VmState::kRunning;
  if (status == "PENDING" || status == "PROVISIONING" || status == "STAGING" ||
      status == "REPAIRING")
    return VmState::kComing;
  if (status == "TERMINATED" || status == "STOPPED" || status == "SUSPENDED")
    return VmState::kStopped;
  return VmState::kLeaving;
}

int digits(const std::string& text, std::size_t at, std::size_t count) {
  int number = 0;
  if (at + count > text.size()) return -1;
  const char* const end = text.data() + at + count;
  return std::from_chars(text.data() + at, end, number).ptr == end ? number : -1;
}

// Seconds east of Greenwich at the end of a time: "Z", "+01:00"; nothing for other text.
std::optional<double> zone_offset(const std::string& text, std::size_t at) {
  if (text.substr(at) == "Z") return 0.0;
  if (text.size() != at + 6 || text[at + 3] != ':') return std::nullopt;
  const int hours = digits(text, at + 1, 2);
  const int minutes = digits(text, at + 4, 2);
  if (hours < 0 || minutes < 0 || (text[at] != '+' && text[at] != '-')) return std::nullopt;
  return (text[at] == '-' ? -1.0 : 1.0) * (hours * 3600.0 + minutes * 60.0);
}

}  // namespace

json insert_body(const VmOrder& order) {
  json metadata = json::array();
  for (const auto& [key, value] : order.metadata)
    metadata.push_back({{"key", key}, {"value", value}});
  const json boot_disk = {{"boot", true},
                          {"autoDelete", true},
                          {"initializeParams",
                           {{"sourceImage", order.disk.image},
                            {"diskSizeGb", std::to_string(order.disk.gib)},
                            {"diskType", zone_path(order, "diskTypes", order.disk.type)}}}};
  json made = {{"name", order.name},
               {"machineType", zone_path(order, "machineTypes", order.machine_type)},
               {"labels", order.labels},
               {"scheduling", scheduling(order)},
               {"disks", json::array({boot_disk})},
               {"networkInterfaces", json::array({network_interface(order.network)})},
               {"metadata", {{"items", metadata}}}};
  if (order.gpus.count > 0)
    made["guestAccelerators"] =
        json::array({{{"acceleratorType", zone_path(order, "acceleratorTypes", order.gpus.type)},
                      {"acceleratorCount", order.gpus.count}}});
  if (!order.service_account.empty())
    made["serviceAccounts"] = json::array(
        {{{"email", order.service_account},
          {"scopes", json::array({"https://www.googleapis.com/auth/cloud-platform"})}}});
  return made;
}

Instance parse_instance(const json& reply) {
  return read("a VM", [&reply] {
    Instance instance;
    instance.name = reply.at("name");
    instance.zone = last_part(reply.at("zone"));
    instance.machine_type = last_part(reply.at("machineType"));
    instance.status = reply.at("status");
    instance.state = state_of(instance.status);
    instance.created_seconds = parse_rfc3339(reply.at("creationTimestamp"));
    if (reply.contains("labels")) instance.labels = reply["labels"];
    const auto schedule = reply.find("scheduling");
    instance.is_spot =
        schedule != reply.end() && schedule->value("provisioningModel", "") == "SPOT";
    const auto interfaces = reply.find("networkInterfaces");
    if (interfaces != reply.end() && !interfaces->empty())
      instance.internal_address = interfaces->at(0).value("networkIP", "");
    return instance;
  });
}

Operation parse_operation(const json& reply) {
  return read("an operation", [&reply] {
    Operation operation;
    operation.name = reply.at("name");
    operation.type = reply.value("operationType", "");
    operation.target = last_part(reply.value("targetLink", ""));
    operation.request_id = reply.value("clientOperationId", "");
    operation.is_done = reply.at("status") == "DONE";
    operation.has_failed = reply.contains("error");
    operation.raw = reply;
    return operation;
  });
}

InstancePage parse_instance_page(const json& reply) {
  return read("a list of VMs", [&reply] {
    InstancePage page;
    page.next_page_token = reply.value("nextPageToken", "");
    if (reply.contains("items"))
      for (const json& item : reply["items"]) page.instances.push_back(parse_instance(item));
    return page;
  });
}

double parse_rfc3339(const std::string& text) {
  using namespace std::chrono;
  const year_month_day date(year(digits(text, 0, 4)),
                            month(static_cast<unsigned>(digits(text, 5, 2))),
                            day(static_cast<unsigned>(digits(text, 8, 2))));
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  std::size_t at = 19;
  double fraction = 0.0;
  if (at < text.size() && text[at] == '.')
    for (double unit = 0.1;
         ++at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); unit /= 10)
      fraction += unit * (text[at] - '0');
  const auto offset = at < text.size() ? zone_offset(text, at) : std::nullopt;
  if (!offset || !date.ok() || hour < 0 || minute < 0 || second < 0 || text[10] != 'T')
    throw ProtocolError(
        {.what = fmt::format("\"{}\" is no time", text), .where = "Compute Engine", .remedy = {}});
  const double days = static_cast<double>(sys_days(date).time_since_epoch().count());
  return days * 86400.0 + hour * 3600.0 + minute * 60.0 + second + fraction - *offset;
}

std::string last_part(const std::string& url) {
  return url.substr(url.rfind('/') + 1);
}

}  // namespace scavenger::gcp
