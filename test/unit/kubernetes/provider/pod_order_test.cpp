#include "kubernetes/provider/pod_order.h"

#include <catch2/catch.hpp>

namespace scavenger::kubernetes {
namespace {

KubernetesSettings settings_with(const json& pod_template) {
  KubernetesSettings settings;
  settings.image = "scavenger:1";
  settings.pod_template = pod_template;
  return settings;
}

const PodOrder kOrder{
    "job-1-worker-0-aa", "job-1", 0, true, {{"kind", "Pod"}, {"name", "controller"}, {"uid", "u"}}};

}  // namespace

TEST_CASE("pod_order: a Pod is one worker, whatever else the template says") {
  MachineKind kind;
  kind.cores = 3.5;
  kind.memory_gib = 2.0;
  kind.gpus = 1;
  kind.node_labels = {{"zone", "a"}};
  kind.spot_node_labels = {{"spot", "true"}};
  kind.spot_tolerations = {{{"key", "spot"}, {"operator", "Exists"}}};
  const json pod = pod_manifest(
      settings_with({{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}},
                     {"spec",
                      {{"priorityClassName", "low"},
                       {"nodeSelector", {{"disk", "fast"}}},
                       {"tolerations", {{{"key", "team"}, {"operator", "Exists"}}}},
                       {"restartPolicy", "Always"},
                       {"securityContext", {{"runAsNonRoot", false}}},
                       {"containers",
                        {{{"name", "log"}, {"image", "log:1"}},
                         {{"name", "worker"}, {"image", "mine:2"}, {"command", {"sh"}}}}}}}}),
      kind, kOrder);
  CHECK(pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "q");
  CHECK(pod["metadata"]["labels"]["scavenger.dev/job"] == "job-1");
  CHECK(pod["metadata"]["ownerReferences"][0]["name"] == "controller");
  const json& spec = pod["spec"];
  CHECK(spec["restartPolicy"] == "Never");
  CHECK(spec["priorityClassName"] == "low");
  CHECK(spec["activeDeadlineSeconds"] == 86400);
  CHECK(spec["securityContext"]["runAsNonRoot"] == false);
  CHECK(spec["nodeSelector"] == json{{"disk", "fast"}, {"zone", "a"}, {"spot", "true"}});
  CHECK(spec["tolerations"].size() == 2);
  REQUIRE(spec["containers"].size() == 2);
  const json& worker = spec["containers"][1];
  CHECK(worker["image"] == "mine:2");
  CHECK(worker["args"] == json{"/opt/scavenger/bin/scavenger-worker", "/run/scavenger/ticket"});
  CHECK(worker["resources"]["requests"]["cpu"] == "3500m");
  CHECK(worker["resources"]["limits"] ==
        json{{"cpu", "3500m"}, {"memory", "2048Mi"}, {"nvidia.com/gpu", "1"}});
  CHECK_FALSE(worker.contains("env"));
}

TEST_CASE("pod_order: a worker that is a script in Python gets its words, and the ticket") {
  KubernetesSettings settings;
  settings.worker = {"scavenger-python-worker", "script", "7", "/data/train.py", "two words"};
  const json pod = pod_manifest(settings, MachineKind(), kOrder);
  const json& worker = pod["spec"]["containers"][0];
  CHECK(worker["args"] == json{"/opt/scavenger/bin/scavenger-python-worker",
                               "/run/scavenger/ticket", "script", "7", "/data/train.py",
                               "two words"});
  CHECK(worker["command"][2] == "ticket=$1; shift; exec \"$0\" \"$@\" <\"$ticket\"");
}

TEST_CASE("pod_order: the ticket is in a Secret that belongs to the Pod, and nowhere else") {
  const json pod = pod_manifest(settings_with(json::object()), MachineKind(), kOrder);
  CHECK(pod["spec"]["volumes"][0]["secret"]["secretName"] == kOrder.name);
  CHECK(pod["spec"]["automountServiceAccountToken"] == false);
  const json secret = ticket_secret(kOrder, "uid-of-pod", "the ticket");
  CHECK(secret["stringData"]["ticket"] == "the ticket");
  CHECK(secret["metadata"]["ownerReferences"][0]["uid"] == "uid-of-pod");
}

TEST_CASE("pod_order: a worker in Python has shared memory as large as its memory") {
  const json own = {{"name", "mine"}, {"mountPath", "/dev/shm"}};
  const json worker = {{"name", "worker"}, {"volumeMounts", json::array({own})}};
  KubernetesSettings settings;
  CHECK(pod_manifest(settings, MachineKind(), kOrder)["spec"]["volumes"].size() == 1);
  settings.worker = {"scavenger-python-worker", "model"};
  const json pod = pod_manifest(settings, MachineKind(), kOrder);
  const json& mount = pod["spec"]["containers"][0]["volumeMounts"][1];
  CHECK(mount["mountPath"] == "/dev/shm");
  CHECK(pod["spec"]["volumes"][0] ==
        json{{"name", mount["name"]}, {"emptyDir", {{"medium", "Memory"}}}});
  settings.pod_template = {{"spec", {{"containers", json::array({worker})}}}};
  const json other = pod_manifest(settings, MachineKind(), kOrder);
  CHECK(other["spec"]["volumes"].size() == 1);
  CHECK(other["spec"]["containers"][0]["volumeMounts"][0] == own);
}

}  // namespace scavenger::kubernetes
