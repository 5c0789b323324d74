#include "kubernetes/provider/manifests.h"

#include <catch2/catch.hpp>

namespace scavenger::kubernetes {
namespace {

json pod_of_job(const json& pod_template) {
  KubernetesSettings settings;
  settings.image = "scavenger:1";
  settings.pod_template = pod_template;
  const json made = job_manifests(
      settings, {.name = "mlp", .config = "{}", .namespace_name = "training", .storage_class = ""});
  return made["items"].back()["spec"]["template"]["spec"];
}

}  // namespace

TEST_CASE("manifests: what the cluster would refuse is refused with its option") {
  const auto refused = [](void (*spoil)(JobManifest&), const std::string& option) {
    JobManifest job;
    job.name = "mine";
    spoil(job);
    CHECK_THROWS_WITH(job_manifests({}, job), Catch::Contains(option));
  };
  refused([](JobManifest& job) { job.name = "Mine"; }, "--name");
  refused([](JobManifest& job) { job.name = "mine-"; }, "--name");
  refused([](JobManifest& job) { job.name = std::string(64, 'a'); }, "--name");
  refused([](JobManifest& job) { job.namespace_name = "UPPER"; }, "--namespace");
  refused([](JobManifest& job) { job.storage = "lots"; }, "--storage");
  refused([](JobManifest& job) { job.cores = -1.0; }, "--cores");
  refused([](JobManifest& job) { job.memory_gib = 0.0; }, "--memory-gib");
}

TEST_CASE("manifests: the controller has the image and the volumes of the workers' template") {
  const json data = {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "images"}}}};
  const json mount = {{"name", "data"}, {"mountPath", "/data"}};
  const json pod = pod_of_job(
      {{"spec",
        {{"imagePullSecrets", json::array({{{"name", "registry"}}})},
         {"securityContext", {{"runAsUser", 1000}}},
         {"nodeSelector", {{"spot", "true"}}},
         {"priorityClassName", "low"},
         {"volumes", json::array({data})},
         {"containers", json::array({{{"name", "log"}, {"image", "log:1"}},
                                     {{"name", "worker"},
                                      {"image", "mine:2"},
                                      {"env", json::array({{{"name", "A"}, {"value", "b"}}})},
                                      {"volumeMounts", json::array({mount})}}})}}}});
  const json& controller = pod["containers"][0];
  CHECK(pod["containers"].size() == 1);
  CHECK(controller["image"] == "mine:2");
  CHECK(controller["env"].back() == json{{"name", "A"}, {"value", "b"}});
  CHECK(controller["volumeMounts"].back() == mount);
  CHECK(pod["volumes"].back() == data);
  CHECK(pod["imagePullSecrets"][0]["name"] == "registry");
  CHECK(pod["securityContext"]["runAsUser"] == 1000);
  CHECK(pod["securityContext"]["runAsNonRoot"] == true);
  CHECK_FALSE(pod.contains("nodeSelector"));
  CHECK_FALSE(pod.contains("priorityClassName"));
}

TEST_CASE("manifests: without a template the controller has its configuration and its volume") {
  const json pod = pod_of_job(json::object());
  CHECK(pod["volumes"].size() == 2);
  CHECK(pod["containers"][0]["image"] == "scavenger:1");
  CHECK(pod["containers"][0]["volumeMounts"].size() == 2);
}

}  // namespace scavenger::kubernetes
