#include "cloud_gcp/api/compute_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>

#include "runtime/base/error.h"

namespace scavenger::gcp {
namespace {

constexpr double kMibPerGib = 1024.0;

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

// What stands before the names of types: insert wants paths, bulkInsert bare names.
struct TypePaths {
  std::string machine;
  std::string disk;
  std::string gpu;
};

json properties(const VmOrder& order, const TypePaths& paths) {
  json metadata = json::array();
  for (const auto& [key, value] : order.metadata)
    metadata.push_back({{"key", key}, {"value", value}});
  const json boot_disk = {{"boot", true},
                          {"autoDelete", true},
                          {"initializeParams",
                           {{"sourceImage", order.disk.image},
                            {"diskSizeGb", std::to_string(order.disk.gib)},
                            {"diskType", paths.disk + order.disk.type}}}};
  json made = {{"machineType", paths.machine + order.machine_type},
               {"labels", order.labels},
               {"scheduling", scheduling(order)},
               {"disks", json::array({boot_disk})},
               {"networkInterfaces", json::array({network_interface(order.network)})},
               {"metadata", {{"items", metadata}}}};
  if (order.gpus.count > 0)
    made["guestAccelerators"] = json::array({{{"acceleratorType", paths.gpu + order.gpus.type},
                                              {"acceleratorCount", order.gpus.count}}});
  if (!order.service_account.empty())
    made["serviceAccounts"] = json::array(
        {{{"email", order.service_account},
          {"scopes", json::array({"https://www.googleapis.com/auth/cloud-platform"})}}});
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
  const std::string zone = "zones/" + order.zone;
  json body = properties(
      order, {zone + "/machineTypes/", zone + "/diskTypes/", zone + "/acceleratorTypes/"});
  body["name"] = order.name;
  return body;
}

json bulk_insert_body(const VmOrder& order, std::span<const std::string> names) {
  json named = json::object();
  for (const std::string& name : names) named[name] = json::object();
  // Bare names of types here: a path is answered with an internal error.
  return {{"count", std::to_string(names.size())},
          {"minCount", "1"},
          {"perInstanceProperties", named},
          {"instanceProperties", properties(order, {})}};
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
    const std::string started = reply.value("lastStartTimestamp", "");
    if (!started.empty()) instance.started_seconds = parse_rfc3339(started);
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

double charged_seconds(double asked_seconds, double now_seconds, const Instance& instance) {
  const double before_start =
      std::max(0.0, instance.started_seconds - instance.created_seconds);  // 0: not started yet
  return std::max(0.0, now_seconds - asked_seconds - before_start);
}

MachineType parse_machine_type(const json& reply) {
  return read("a machine type", [&reply] {
    MachineType type;
    type.name = reply.at("name");
    type.vcpus = reply.at("guestCpus");
    type.memory_gib = reply.at("memoryMb").get<double>() / kMibPerGib;
    type.has_shared_cores = reply.value("isSharedCpu", false);
    const json gpus = reply.value("accelerators", json::array());
    if (!gpus.empty())
      type.gpus = {.type = gpus.at(0).at("guestAcceleratorType"),
                   .count = gpus.at(0).at("guestAcceleratorCount")};
    return type;
  });
}

std::vector<Quota> parse_quotas(const json& region) {
  return read("the quotas of a region", [&region] {
    std::vector<Quota> quotas;
    for (const json& item : region.value("quotas", json::array()))
      quotas.push_back(
          {.metric = item.at("metric"), .limit = item.at("limit"), .usage = item.at("usage")});
    return quotas;
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
  if (at < text.size() && text[at] == '.') {
    ++at;
    for (double unit = 0.1; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]));
         ++at, unit /= 10)
      fraction += unit * (text[at] - '0');
  }
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
