// The objects of one worker: its Pod, and the Secret with its ticket. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "kubernetes/provider/kubernetes_settings.h"

namespace scavenger::kubernetes {

inline constexpr const char* kContainer = "worker";
inline constexpr const char* kTicketVolume = "scavenger-ticket";
inline constexpr const char* kTicketFolder = "/run/scavenger";

struct PodOrder {
  std::string name;
  std::string job;  // its label
  std::uint32_t worker = 0;
  bool spot = false;
  json owner;  // an owner reference to the controller's Pod; null: none
};

// The user's template with what we must have on top: name, labels, owner, the container "worker"
// with its command and its ticket, resources, the nodes of the kind, and limits of its life.
json pod_manifest(const KubernetesSettings& settings, const MachineKind& kind,
                  const PodOrder& order);

// Belongs to the Pod: it goes with it. The Pod waits until it is there.
json ticket_secret(const PodOrder& order, const std::string& pod_uid, const std::string& ticket);

// "3500m": a number of cores as Kubernetes writes it.
std::string cores_text(double cores);

}  // namespace scavenger::kubernetes
