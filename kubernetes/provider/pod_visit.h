// A look at the Pods that jobs have in a cluster, and their removal by hand: scavenger-ctl k8s.
#pragma once

#include <filesystem>
#include <ostream>

#include "kubernetes/provider/kubernetes_settings.h"
#include "runtime/provider/machine_visit.h"

namespace scavenger::kubernetes {

// Those of a run folder, or of a configuration. Throws InputError if its machines are not in
// Kubernetes.
KubernetesSettings settings_of_job(const std::filesystem::path& run_or_config);

// Shows the Pods in the settings' namespace, and deletes them if that is allowed. False if some are
// left that were to be deleted. Blocks. Throws InputError and KubeError.
bool visit_job_pods(const KubernetesSettings& settings, const MachineVisit& visit,
                    std::ostream& out);

}  // namespace scavenger::kubernetes
