// What a cluster needs to run a job altogether: scavenger-ctl k8s render. Pure.
#pragma once

#include <filesystem>
#include <string>

#include "kubernetes/provider/kubernetes_settings.h"

namespace scavenger::kubernetes {

struct JobManifest {
  std::string name;              // of the job: all objects are called so
  std::string config;            // the text of its configuration
  std::string namespace_name;    // empty: as kubectl chooses
  std::string storage = "10Gi";  // of the volume with the run folder
  std::string storage_class;     // empty: the cluster's default
  double cores = 1.0;            // of scavenger-train with its shards
  double memory_gib = 2.0;
};

// A List for kubectl apply: ServiceAccount, Role and RoleBinding, the configuration, a volume for
// the run folder, and a Job whose Pod runs scavenger-train, and goes on after it was taken away.
// Throws InputError, naming the option of the command, if the cluster would refuse the objects.
json job_manifests(const KubernetesSettings& settings, const JobManifest& job);

}  // namespace scavenger::kubernetes
