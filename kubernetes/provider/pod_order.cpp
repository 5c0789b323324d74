#include "kubernetes/provider/pod_order.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <utility>

#include "kubernetes/api/names.h"

namespace scavenger::kubernetes {
namespace {

constexpr unsigned kGraceSeconds = 30;  // for a worker's goodbye: one iteration is enough
constexpr const char* kSharedMemoryVolume = "scavenger-shared-memory";
constexpr const char* kSharedMemory = "/dev/shm";
constexpr const char* kPythonWorker = "scavenger-python-worker";

// The value of a key, made if it is missing or null.
json& object_in(json& parent, const char* key) {
  json& value = parent[key];
  if (value.is_null()) value = json::object();
  return value;
}
json& array_in(json& parent, const char* key) {
  json& value = parent[key];
  if (value.is_null()) value = json::array();
  return value;
}

void set_default(json& object, const char* key, json value) {
  if (!object.contains(key)) object[key] = std::move(value);
}

json& container_in(json& spec) {
  json& containers = array_in(spec, "containers");
  for (json& container : containers)
    if (text_at(container, {"name"}) == kContainer) return container;
  containers.insert(containers.begin(), json{{"name", kContainer}});
  return containers.front();
}

void add_resources(json& container, const MachineKind& kind) {
  json& resources = object_in(container, "resources");
  json& requests = object_in(resources, "requests");
  requests["cpu"] = cores_text(kind.cores);
  object_in(resources, "limits");
  set_default(resources["limits"], "cpu", cores_text(kind.cores));
  if (kind.memory_gib > 0.0) {
    const std::string memory = fmt::format("{}Mi", std::llround(kind.memory_gib * 1024.0));
    resources["requests"]["memory"] = memory;
    resources["limits"]["memory"] = memory;
  }
  if (kind.gpus > 0) resources["limits"][kind.gpu_resource] = std::to_string(kind.gpus);
}

// What the level "restricted" of the Pod security standards asks for, unless the template says
// otherwise.
void add_security(json& spec, json& container) {
  json& of_pod = object_in(spec, "securityContext");
  set_default(of_pod, "runAsNonRoot", true);
  set_default(of_pod, "seccompProfile", {{"type", "RuntimeDefault"}});
  json& of_container = object_in(container, "securityContext");
  set_default(of_container, "allowPrivilegeEscalation", false);
  set_default(of_container, "capabilities", {{"drop", {"ALL"}}});
}

// What a container run-time mounts there has 64 MB, which is too little for PyTorch's loaders. This
// one counts as memory of the container, and grows up to that. Other workers use none, and get
// none, because `kubectl drain` wants --delete-emptydir-data for Pods that have such a volume.
void add_shared_memory(json& spec, json& container) {
  for (const json& mount : array_in(container, "volumeMounts"))
    if (text_at(mount, {"mountPath"}) == kSharedMemory) return;
  container["volumeMounts"].push_back(
      {{"name", kSharedMemoryVolume}, {"mountPath", kSharedMemory}});
  array_in(spec, "volumes")
      .push_back({{"name", kSharedMemoryVolume}, {"emptyDir", {{"medium", "Memory"}}}});
}

void add_container(json& spec, const KubernetesSettings& settings, const MachineKind& kind) {
  json& container = container_in(spec);
  set_default(container, "image", settings.image);
  container["command"] = {"/bin/sh", "-c", "ticket=$1; shift; exec \"$0\" \"$@\" <\"$ticket\""};
  container["args"] = {(settings.programs / settings.worker.front()).string(),
                       std::string(kTicketFolder) + "/ticket"};
  for (std::size_t i = 1; i < settings.worker.size(); ++i)
    container["args"].push_back(settings.worker[i]);
  array_in(container, "volumeMounts")
      .push_back({{"name", kTicketVolume}, {"mountPath", kTicketFolder}, {"readOnly", true}});
  if (settings.worker.front() == kPythonWorker) add_shared_memory(spec, container);
  add_resources(container, kind);
  add_security(spec, container);
}

void add_place(json& spec, const MachineKind& kind, bool spot) {
  if (!kind.node_labels.empty() || (spot && !kind.spot_node_labels.empty())) {
    json& labels = object_in(spec, "nodeSelector");
    for (const auto& [key, value] : kind.node_labels) labels[key] = value;
    if (spot)
      for (const auto& [key, value] : kind.spot_node_labels) labels[key] = value;
  }
  if (spot && !kind.spot_tolerations.empty())
    for (const json& toleration : kind.spot_tolerations)
      array_in(spec, "tolerations").push_back(toleration);
}

}  // namespace

std::string cores_text(double cores) {
  return fmt::format("{}m", std::llround(cores * 1000.0));
}

json pod_manifest(const KubernetesSettings& settings, const MachineKind& kind,
                  const PodOrder& order) {
  json pod = settings.pod_template;
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  json& metadata = object_in(pod, "metadata");
  metadata["name"] = order.name;
  json& labels = object_in(metadata, "labels");
  labels[kJobLabel] = order.job;
  labels[kWorkerLabel] = std::to_string(order.worker);
  set_default(labels, "app.kubernetes.io/name", "scavenger");
  if (!order.owner.is_null()) metadata["ownerReferences"] = json::array({order.owner});
  json& spec = object_in(pod, "spec");
  spec["restartPolicy"] = "Never";
  spec["activeDeadlineSeconds"] = static_cast<std::int64_t>(settings.max_run_seconds);
  set_default(spec, "terminationGracePeriodSeconds", kGraceSeconds);
  set_default(spec, "automountServiceAccountToken", false);
  set_default(spec, "enableServiceLinks", false);
  add_container(spec, settings, kind);
  array_in(spec, "volumes")
      .push_back({{"name", kTicketVolume},
                  {"secret", {{"secretName", order.name}, {"defaultMode", 0444}}}});
  add_place(spec, kind, order.spot);
  return pod;
}

json ticket_secret(const PodOrder& order, const std::string& pod_uid, const std::string& ticket) {
  const json owner = {
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"name", order.name}, {"uid", pod_uid}};
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", "Opaque"},
          {"immutable", true},
          {"metadata",
           {{"name", order.name},
            {"labels", {{kJobLabel, order.job}}},
            {"ownerReferences", json::array({owner})}}},
          {"stringData", {{"ticket", ticket}}}};
}

}  // namespace scavenger::kubernetes
