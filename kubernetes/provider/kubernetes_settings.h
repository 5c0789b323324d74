// What the configuration says of Kubernetes: its object `provider` of type "kubernetes"
// (docs/kubernetes.md).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kubernetes/api/cluster_access.h"
#include "kubernetes/api/json_access.h"
#include "kubernetes/api/kube_client.h"
#include "kubernetes/api/object_watch.h"
#include "runtime/config/provider_config.h"
#include "runtime/provider/machine_description.h"

namespace scavenger::kubernetes {

// One kind of Pods: what each asks for, on which nodes, and what a node's share of that costs.
// Without `memory_gib` there is no limit; without `count` there are as many as there is room for.
struct MachineKind : MachineDescription {
  MachineKind() { cores = 1.0; }

  std::string gpu_resource = "nvidia.com/gpu";
  std::map<std::string, std::string> node_labels;  // nodes of this kind
  // Further labels and tolerations for spot nodes of this kind; no labels: there are none.
  std::map<std::string, std::string> spot_node_labels;
  json spot_tolerations = json::array();

  bool has_spot() const { return !spot_node_labels.empty() || !spot_tolerations.empty(); }
};

struct KubernetesSettings {
  AccessSettings access;
  std::string namespace_name;  // empty: of the context or the service account, else "default"
  std::string image;
  std::filesystem::path programs = "/opt/scavenger/bin";   // of the worker in the image
  std::vector<std::string> worker = {"scavenger-worker"};  // its program, and arguments for it
  std::vector<MachineKind> machines;                       // the first is taken first
  json pod_template = json::object();
  std::string controller_address;    // at which Pods reach us; empty: POD_IP, or listen_address
  double wait_seconds = 600.0;       // from a request to a Pod that runs
  double max_run_seconds = 86400.0;  // of a Pod: then the cluster ends it, whatever became of us
  bool watch_nodes = true;           // for the taints that come before a node goes
  // For a Pod whose worker was lost: in which the cluster says what became of it, and after which a
  // node that has not ended a Pod within its grace is taken for dead.
  double judge_seconds = 3.0;
  double dead_node_seconds = 30.0;
  Patience patience;
  WatchSettings watch;
};

// Requires a checked configuration. Throws InputError for a pod_template that cannot be one.
KubernetesSettings kubernetes_settings(const ProviderConfig& config);

// Has an entry for each kind of machine.
MachineCatalogue kubernetes_catalogue(const KubernetesSettings& settings);
MachinePrice price_of_kind(const MachineKind& kind, bool spot);

}  // namespace scavenger::kubernetes
