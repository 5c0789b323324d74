// A look at the Pods that jobs have in a cluster, and their removal by hand: scavenger-ctl k8s.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

#include "kubernetes/provider/kubernetes_settings.h"

namespace scavenger::kubernetes {

// Those of a run folder, or of a configuration. Throws InputError if its machines are not in
// Kubernetes.
KubernetesSettings settings_of_job(const std::filesystem::path& run_or_config);

struct PodVisit {
  std::string job;  // only of this one, by its label; empty: of all in the namespace
  // Whether to delete so many Pods. Empty: nothing is deleted.
  std::function<bool(std::size_t count)> may_delete;
};

// Shows the Pods in the settings' namespace, and deletes them if that is allowed. False if some are
// left that were to be deleted. Blocks. Throws InputError and KubeError.
bool visit_job_pods(const KubernetesSettings& settings, const PodVisit& visit, std::ostream& out);

}  // namespace scavenger::kubernetes
