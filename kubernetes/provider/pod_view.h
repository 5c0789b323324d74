// What a Pod's object says about it, as far as a job cares. Pure.
#pragma once

#include <optional>
#include <string>

#include "kubernetes/api/json_access.h"
#include "runtime/provider/machine.h"

namespace scavenger::kubernetes {

struct PodView {
  std::string name;
  std::string job;     // its label
  std::string worker;  // its label
  std::string phase;   // "Pending", "Running", "Succeeded", "Failed"
  std::string address;
  std::string node;
  std::string created;         // as the server writes it
  bool is_going = false;       // it has a deletionTimestamp
  double grace_seconds = 0.0;  // of its deletion
  std::string disruption;      // reason of the condition DisruptionTarget; empty: none
  std::string unschedulable;   // the scheduler's message; empty: it is not
  std::string gate;            // waits for a queue such as Kueue's; empty: it does not
  std::string waiting_reason;  // of its container: "ImagePullBackOff"
  std::string waiting_message;
  std::string end_reason;  // "Evicted", "OOMKilled", "Error"
  std::string end_message;
  std::optional<int> exit_code;
  // What the user reads beside its job's Pods.
  std::string status_word() const;

  bool is_ready() const { return phase == "Running" && !address.empty() && !is_going; }
  bool has_ended() const { return phase == "Succeeded" || phase == "Failed"; }
};

PodView pod_view(const json& pod);

// Why a Pod that does not run yet never will, or not soon; nothing: wait on, or it has run and
// ended_by_itself(). `has_run`: whether a Pod with the same image has already run, so that the
// image cannot be wrong altogether.
std::optional<Refusal> pod_refusal(const PodView& pod, bool has_run);

// A notice that follows from the Pod itself; nothing: none.
std::optional<MachineNotice> pod_notice(const PodView& pod);

// How a Pod that was ready has ended. `was_removed`: its object is gone.
MachineLoss pod_loss(const PodView& pod, bool was_removed);

// Its container ran, or could not be started, and nobody took the Pod away: another one may end
// likewise.
bool ended_by_itself(const PodView& pod);

// Why a node will soon lose its Pods: one of the taints of drains, autoscalers and spot handlers.
std::optional<std::string> node_notice(const json& node);

}  // namespace scavenger::kubernetes
