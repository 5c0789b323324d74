#include "kubernetes/provider/pod_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace scavenger::kubernetes {
namespace {

constexpr double kImageAgainSeconds = 30.0;

constexpr std::array<std::string_view, 3> kNoImage = {"ImagePullBackOff", "ErrImagePull",
                                                      "ErrImageNeverPull"};
constexpr std::array<std::string_view, 5> kNoContainer = {
    "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
    "ErrImageNeverPull"};

// Reasons of a Pod's end for which nothing in it is to blame.
constexpr std::array<std::string_view, 9> kTaken = {"Evicted",    "Preempting",      "Preempted",
                                                    "NodeLost",   "NodeShutdown",    "NodeAffinity",
                                                    "Terminated", "NodeUnreachable", "Shutdown"};

constexpr std::array<std::string_view, 12> kLeavingTaints = {
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/out-of-service",
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "cloud.google.com/impending-node-termination",
    "aws-node-termination-handler/spot-itn",
    "aws-node-termination-handler/scheduled-maintenance",
    "aws-node-termination-handler/asg-lifecycle-termination",
    "aws-node-termination-handler/rebalance-recommendation",
    "remediation.azure.com/unschedulable",
    "kubernetes.azure.com/scheduled-event"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void read_conditions(const json& pod, PodView& view) {
  for (const json& condition : array_at(pod, {"status", "conditions"})) {
    const std::string type = text_at(condition, {"type"}), status = text_at(condition, {"status"});
    const std::string reason = text_at(condition, {"reason"});
    if (type == "DisruptionTarget" && status == "True")
      view.disruption = reason.empty() ? "DisruptionTarget" : reason;
    if (type != "PodScheduled" || status != "False") continue;
    if (reason == "SchedulingGated")
      view.gate = text_at(condition, {"message"});
    else
      view.unschedulable = text_at(condition, {"message"});
  }
}

void read_container(const json& pod, PodView& view) {
  for (const char* const list : {"initContainerStatuses", "containerStatuses"})
    for (const json& status : array_at(pod, {"status", list})) {
      const json& waiting = value_at(status, {"state", "waiting"});
      if (waiting.is_object()) {
        view.waiting_reason = text_at(waiting, {"reason"});
        view.waiting_message = text_at(waiting, {"message"});
      }
      const json& ended = value_at(status, {"state", "terminated"});
      if (!ended.is_object()) continue;
      const int code = static_cast<int>(number_at(ended, {"exitCode"}));
      if (view.exit_code && *view.exit_code != 0) continue;  // the first failure counts
      view.exit_code = code;
      view.end_reason = text_at(ended, {"reason"});
      view.end_message = text_at(ended, {"message"});
    }
}

Refusal refusal(RefusalKind kind, Problem problem, std::optional<double> again) {
  return {kind, std::move(problem), again};
}

}  // namespace

PodView pod_view(const json& pod) {
  PodView view;
  view.name = text_at(pod, {"metadata", "name"});
  view.job = text_at(pod, {"metadata", "labels", "scavenger.dev/job"});
  view.worker = text_at(pod, {"metadata", "labels", "scavenger.dev/worker"});
  view.created = text_at(pod, {"metadata", "creationTimestamp"});
  view.is_going = !text_at(pod, {"metadata", "deletionTimestamp"}).empty();
  view.grace_seconds = number_at(pod, {"metadata", "deletionGracePeriodSeconds"});
  view.phase = text_at(pod, {"status", "phase"});
  view.address = text_at(pod, {"status", "podIP"});
  view.node = text_at(pod, {"spec", "nodeName"});
  read_conditions(pod, view);
  read_container(pod, view);
  // Of an eviction the Pod itself tells, and not its container.
  const std::string reason = text_at(pod, {"status", "reason"});
  if (!reason.empty()) {
    view.end_reason = reason;
    view.end_message = text_at(pod, {"status", "message"});
  }
  return view;
}

std::string PodView::status_word() const {
  if (is_going) return "Terminating";
  if (!waiting_reason.empty()) return waiting_reason;
  if (!end_reason.empty()) return end_reason;
  if (!unschedulable.empty()) return "Unschedulable";
  if (!gate.empty()) return "Queued";
  return phase.empty() ? "Unknown" : phase;
}

std::optional<Refusal> pod_refusal(const PodView& pod, bool has_run) {
  const std::string where = "Pod " + pod.name;
  const std::string& reason = pod.waiting_reason;
  const std::string said =
      pod.waiting_message.empty() ? reason : fmt::format("{}: {}", reason, pod.waiting_message);
  // The first ErrImagePull may be a registry's bad moment; it becomes ImagePullBackOff otherwise.
  if (is_one_of(kNoImage, reason) && reason != "ErrImagePull") {
    Problem problem{.what = "its image cannot be pulled: " + said,
                    .where = where,
                    .remedy =
                        "check provider.image, and imagePullSecrets in "
                        "provider.pod_template.spec"};
    if (has_run) return refusal(RefusalKind::kUnreachable, std::move(problem), kImageAgainSeconds);
    return refusal(RefusalKind::kInvalid, std::move(problem), std::nullopt);
  }
  if (is_one_of(kNoContainer, reason) && said.find("scavenger-ticket") == std::string::npos)
    return refusal(RefusalKind::kInvalid,
                   {.what = "its container cannot be made: " + said,
                    .where = where,
                    .remedy = "correct provider.image, programs or pod_template"},
                   std::nullopt);
  const MachineLoss loss = pod_loss(pod, false);
  if (pod.has_ended() && loss.was_taken)
    return refusal(
        RefusalKind::kCapacity,
        {.what = "it ended before it was ready: it " + loss.how, .where = where, .remedy = ""},
        kImageAgainSeconds);
  return std::nullopt;
}

std::optional<MachineNotice> pod_notice(const PodView& pod) {
  if (!pod.disruption.empty())
    return MachineNotice{pod.is_going ? pod.grace_seconds : 0.0, pod.disruption};
  if (pod.is_going) return MachineNotice{pod.grace_seconds, "its Pod is being deleted"};
  return std::nullopt;
}

MachineLoss pod_loss(const PodView& pod, bool was_removed) {
  MachineLoss loss;
  const bool is_taken = is_one_of(kTaken, pod.end_reason);
  if (!pod.disruption.empty() || is_taken) {
    const std::string& reason = pod.disruption.empty() ? pod.end_reason : pod.disruption;
    loss.how = fmt::format("was disrupted: {}{}", reason,
                           pod.end_message.empty() ? "" : " (" + pod.end_message + ")");
  } else if (pod.is_going) {
    loss.how = "was deleted";
  } else if (pod.has_ended()) {
    loss.was_taken = false;
    loss.how = fmt::format("ended by itself: {}, exit code {}",
                           pod.end_reason.empty() ? pod.phase : pod.end_reason,
                           pod.exit_code ? std::to_string(*pod.exit_code) : "unknown");
    if (!pod.end_message.empty()) loss.how += " (" + pod.end_message + ")";
    if (pod.end_reason == "OOMKilled") loss.how += ": raise memory_gib of its machine";
    if (pod.end_reason == "DeadlineExceeded") {
      loss.was_taken = true;
      loss.how = "has reached provider.max_run_seconds";
    }
  } else {
    loss.how = was_removed ? "is gone with its Pod" : "is gone";
  }
  return loss;
}

bool ended_by_itself(const PodView& pod) {
  return pod.has_ended() && !pod_loss(pod, false).was_taken;
}

std::optional<std::string> node_notice(const json& node) {
  for (const json& taint : array_at(node, {"spec", "taints"})) {
    const std::string key = text_at(taint, {"key"});
    if (is_one_of(kLeavingTaints, key)) return "its node has the taint " + key;
  }
  return std::nullopt;
}

}  // namespace scavenger::kubernetes
