#include "kubernetes/provider/kubernetes_settings.h"

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::kubernetes {
namespace {

std::map<std::string, std::string> labels_in(const json& object, const char* key) {
  return object.at(key).get<std::map<std::string, std::string>>();
}

MachineKind kind_of(const json& object) {
  MachineKind kind;
  static_cast<MachineDescription&>(kind) = machine_description(object);
  kind.gpu_resource = object.at("gpu_resource");
  kind.node_labels = labels_in(object, "node_labels");
  kind.spot_node_labels = labels_in(object, "spot_node_labels");
  kind.spot_tolerations = object.at("spot_tolerations");
  if (kind.has_spot()) kind.spot_price_per_hour = object.at("spot_price_per_hour").get<double>();
  return kind;
}

void check_template(const json& pod_template) {
  const auto refuse = [](const std::string& what, const std::string& where) {
    throw InputError({.what = what,
                      .where = "provider.pod_template" + where,
                      .remedy = "write it as the template of a Pod: {\"metadata\": {...}, "
                                "\"spec\": {...}}"});
  };
  for (const auto& [key, value] : pod_template.items()) {
    if (key != "metadata" && key != "spec") refuse("a Pod has no \"" + key + "\" to set", "");
    if (!value.is_object()) refuse("this is no object", "." + key);
  }
  const json& containers = value_at(pod_template, {"spec", "containers"});
  if (!containers.is_null() && !containers.is_array())
    refuse("this is no array", ".spec.containers");
  for (const json& container : array_at(pod_template, {"spec", "containers"}))
    if (text_at(container, {"name"}).empty())
      refuse("a container has no name; ours is \"worker\"", ".spec.containers");
}

}  // namespace

KubernetesSettings kubernetes_settings(const ProviderConfig& config) {
  const json object = parse_json<json>(config.settings);
  KubernetesSettings settings;
  settings.access.kubeconfig = object.at("kubeconfig").get<std::string>();
  settings.access.context = object.at("context");
  settings.namespace_name = object.at("namespace");
  settings.image = object.at("image");
  settings.programs = object.at("programs").get<std::string>();
  for (const json& machine : object.at("machines")) settings.machines.push_back(kind_of(machine));
  settings.pod_template = object.at("pod_template");
  settings.controller_address = object.at("controller_address");
  settings.wait_seconds = object.at("wait_seconds");
  settings.max_run_seconds = object.at("max_run_seconds");
  settings.watch_nodes = object.at("watch_nodes");
  check_template(settings.pod_template);
  return settings;
}

MachinePrice price_of_kind(const MachineKind& kind, bool spot) {
  MachinePrice price = price_of(static_cast<const MachineDescription&>(kind), spot);
  price.on_demand_per_hour = kind.price_per_hour;
  price.source = "provider.machines";
  return price;
}

MachineCatalogue kubernetes_catalogue(const KubernetesSettings& settings) {
  MachineCatalogue catalogue;
  for (const MachineKind& kind : settings.machines) {
    CatalogueEntry entry = catalogue_entry(kind);
    entry.on_demand = price_of_kind(kind, false);
    if (kind.has_spot()) entry.spot = price_of_kind(kind, true);
    catalogue.entries.push_back(std::move(entry));
  }
  return catalogue;
}

}  // namespace scavenger::kubernetes
