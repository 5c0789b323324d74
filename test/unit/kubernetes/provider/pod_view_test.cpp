#include "kubernetes/provider/pod_view.h"

#include <catch2/catch.hpp>

namespace scavenger::kubernetes {
namespace {

PodView view_with(const json& status, const json& metadata = json::object()) {
  json meta = metadata;
  meta["name"] = "p";
  return pod_view({{"metadata", meta}, {"spec", {{"nodeName", "n"}}}, {"status", status}});
}

json container(const json& state) {
  return {{"phase", "Pending"}, {"containerStatuses", {{{"name", "worker"}, {"state", state}}}}};
}

}  // namespace

TEST_CASE("pod_view: objects of any shape are read without harm") {
  for (const char* const text :
       {"{}", "[]", "null", R"({"metadata": 3, "status": {"conditions": {"a": 1}}})",
        R"({"status": {"containerStatuses": [1, {"state": {"waiting": 2}}]}})"})
    CHECK_FALSE(pod_view(json::parse(text)).is_ready());
  CHECK_FALSE(node_notice(json::parse(R"({"spec": {"taints": {"key": "x"}}})")));
}

TEST_CASE("pod_view: a Pod is ready while it runs and is not deleted") {
  const json running = {{"phase", "Running"}, {"podIP", "10.0.0.1"}};
  CHECK(view_with(running).is_ready());
  CHECK_FALSE(view_with(running, {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}).is_ready());
  CHECK_FALSE(view_with({{"phase", "Running"}}).is_ready());
}

TEST_CASE("pod_view: an image that cannot be pulled is the user's fault only if none ever was") {
  const PodView pod = view_with(
      container({{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "no such image"}}}}));
  CHECK(pod_refusal(pod, false)->kind == RefusalKind::kInvalid);
  CHECK_FALSE(pod_refusal(pod, false)->retry_after_seconds);
  CHECK(pod_refusal(pod, true)->kind == RefusalKind::kUnreachable);
  CHECK(pod_refusal(pod, true)->retry_after_seconds);
  CHECK_FALSE(
      pod_refusal(view_with(container({{"waiting", {{"reason", "ErrImagePull"}}}})), false));
  CHECK_FALSE(
      pod_refusal(view_with(container({{"waiting", {{"reason", "ContainerCreating"}}}})), false));
  CHECK(pod_refusal(view_with(container({{"waiting", {{"reason", "CreateContainerConfigError"}}}})),
                    true)
            ->kind == RefusalKind::kInvalid);
}

TEST_CASE("pod_view: a Pod that a queue has not admitted waits as one that no node takes") {
  const auto waits = [](const char* reason) {
    const json condition = {
        {{"type", "PodScheduled"}, {"status", "False"}, {"reason", reason}, {"message", "later"}}};
    return view_with({{"phase", "Pending"}, {"conditions", condition}});
  };
  const PodView queued = waits("SchedulingGated"), homeless = waits("Unschedulable");
  CHECK(queued.gate == "later");
  CHECK(queued.unschedulable.empty());
  CHECK(queued.status_word() == "Queued");
  CHECK(homeless.unschedulable == "later");
  CHECK(homeless.status_word() == "Unschedulable");
  for (const PodView& pod : {queued, homeless}) CHECK_FALSE(pod_refusal(pod, false));
}

TEST_CASE("pod_view: who is to blame for a loss") {
  const auto ended = [](const std::string& reason, int code) {
    json status = container({{"terminated", {{"exitCode", code}, {"reason", reason}}}});
    status["phase"] = "Failed";
    return pod_loss(view_with(status), false);
  };
  CHECK_FALSE(ended("Error", 1).was_taken);
  CHECK_THAT(ended("OOMKilled", 137).how, Catch::Contains("memory_gib"));
  CHECK_FALSE(ended("OOMKilled", 137).was_taken);
  const PodView evicted = view_with(
      {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "The node was low on memory"}});
  CHECK(pod_loss(evicted, false).was_taken);
  CHECK_THAT(pod_loss(evicted, false).how, Catch::Contains("low on memory"));
  CHECK(pod_loss(view_with({{"phase", "Running"}}), true).was_taken);
  CHECK(
      pod_loss(view_with({{"phase", "Failed"}, {"reason", "DeadlineExceeded"}}), false).was_taken);
}

TEST_CASE("pod_view: a Pod that ended before anybody saw it run is a loss, unless it was taken") {
  json status = container({{"terminated",
                            {{"exitCode", 128},
                             {"reason", "StartError"},
                             {"message", "exec: no such file or directory"}}}});
  status["phase"] = "Failed";
  const PodView failed = view_with(status);
  CHECK(ended_by_itself(failed));
  CHECK_FALSE(pod_refusal(failed, false));
  CHECK_THAT(pod_loss(failed, false).how, Catch::Contains("no such file or directory"));

  const PodView evicted = view_with({{"phase", "Failed"}, {"reason", "Evicted"}});
  CHECK_FALSE(ended_by_itself(evicted));
  CHECK(pod_refusal(evicted, false)->kind == RefusalKind::kCapacity);
  CHECK_FALSE(ended_by_itself(view_with({{"phase", "Running"}})));
}

TEST_CASE("pod_view: notices") {
  CHECK_FALSE(pod_notice(view_with({{"phase", "Running"}})));
  const auto deleted =
      pod_notice(view_with({{"phase", "Running"}}, {{"deletionTimestamp", "2026-01-01T00:00:00Z"},
                                                    {"deletionGracePeriodSeconds", 25}}));
  REQUIRE(deleted);
  CHECK(deleted->seconds == 25.0);
  const json target = {
      {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "PreemptionByScheduler"}}};
  CHECK(pod_notice(view_with({{"phase", "Running"}, {"conditions", target}}))->reason ==
        "PreemptionByScheduler");
  const json cordoned = {{"spec", {{"taints", {{{"key", "node.kubernetes.io/unschedulable"}}}}}}};
  CHECK(node_notice(cordoned));
  const json spot = {{"spec", {{"taints", {{{"key", "cloud.google.com/gke-spot"}}}}}}};
  CHECK_FALSE(node_notice(spot));
}

}  // namespace scavenger::kubernetes
