#include "cloud_gcp/provider/gcp_settings.h"

#include "runtime/base/json_text.h"
#include "runtime/schema/input_file.h"
#include "runtime/schema/json.h"

namespace scavenger::gcp {

GcpSettings gcp_settings(const ProviderConfig& config) {
  const Json object = parse_json<Json>(config.settings);
  GcpSettings settings;
  settings.place = {.endpoint = object.at("endpoint"), .project = object.at("project")};
  settings.credentials.key_file = object.at("key_file").get<std::string>();
  settings.credentials.self_signed = object.at("self_signed");
  settings.spot = config.spot;
  settings.zones = object.at("zones").get<std::vector<std::string>>();
  settings.machine_types = object.at("machine_types").get<std::vector<std::string>>();
  const Json& gpus = object.at("gpus");
  settings.gpus = {.type = gpus.at("type"), .count = gpus.at("count")};
  settings.disk = {
      .image = object.at("image"), .type = object.at("disk_type"), .gib = object.at("disk_gib")};
  settings.network = {.network = object.at("network"),
                      .subnetwork = object.at("subnetwork"),
                      .external_address = object.at("external_address")};
  settings.service_account = object.at("service_account");
  settings.started.programs = object.at("programs");
  settings.controller_address = object.at("controller_address");
  settings.max_run_seconds = object.at("max_run_seconds");
  settings.preemption_notice_seconds = object.at("preemption_notice_seconds");
  settings.wait_seconds = object.at("wait_seconds");
  settings.watch_seconds = object.at("watch_seconds");
  settings.cool_down.first_seconds = object.at("cool_down_seconds");
  settings.prices = object.at("prices").get<std::string>();
  return settings;
}

PriceCatalog price_catalog(const GcpSettings& settings) {
  if (settings.prices.empty()) return PriceCatalog::built_in();
  return PriceCatalog::parse(read_input_file(settings.prices, "name a catalog of prices"),
                             settings.prices);
}

}  // namespace scavenger::gcp
