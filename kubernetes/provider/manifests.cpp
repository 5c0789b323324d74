#include "kubernetes/provider/manifests.h"

#include <fmt/format.h>

#include <cmath>
#include <regex>

#include "kubernetes/provider/pod_order.h"
#include "runtime/base/error.h"

namespace scavenger::kubernetes {
namespace {

constexpr const char* kRuns = "/runs";
constexpr const char* kConfigFolder = "/etc/scavenger";
constexpr const char* kConfigVolume = "scavenger-config";
constexpr const char* kRunsVolume = "scavenger-runs";
constexpr int kTries = 20;      // of a controller that fails; one that is taken away does not count
constexpr int kUser = 65532;    // nobody in particular
constexpr int kWrongInput = 2;  // the exit code for what only the user can mend
constexpr int kGraceSeconds = 120;  // to write a checkpoint

json object(const char* api_version, const char* kind, const JobManifest& job) {
  json made = {
      {"apiVersion", api_version},
      {"kind", kind},
      {"metadata", {{"name", job.name}, {"labels", {{"app.kubernetes.io/name", "scavenger"}}}}}};
  if (!job.namespace_name.empty()) made["metadata"]["namespace"] = job.namespace_name;
  return made;
}

json role(const JobManifest& job) {
  json made = object("rbac.authorization.k8s.io/v1", "Role", job);
  made["rules"] = {{{"apiGroups", {""}},
                    {"resources", {"pods"}},
                    {"verbs", {"create", "delete", "get", "list", "watch"}}},
                   {{"apiGroups", {""}}, {"resources", {"pods/log"}}, {"verbs", {"get"}}},
                   {{"apiGroups", {""}}, {"resources", {"secrets"}}, {"verbs", {"create"}}}};
  return made;
}

json role_binding(const JobManifest& job) {
  json made = object("rbac.authorization.k8s.io/v1", "RoleBinding", job);
  made["roleRef"] = {
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", job.name}};
  made["subjects"] = json::array({{{"kind", "ServiceAccount"}, {"name", job.name}}});
  if (!job.namespace_name.empty()) made["subjects"][0]["namespace"] = job.namespace_name;
  return made;
}

json config_map(const JobManifest& job) {
  json made = object("v1", "ConfigMap", job);
  made["data"] = {{"config.json", job.config}};
  return made;
}

json volume_claim(const JobManifest& job) {
  json made = object("v1", "PersistentVolumeClaim", job);
  made["spec"] = {{"accessModes", {"ReadWriteOnce"}},
                  {"resources", {{"requests", {{"storage", job.storage}}}}}};
  if (!job.storage_class.empty()) made["spec"]["storageClassName"] = job.storage_class;
  return made;
}

json from_pod(const char* name, const char* field) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}};
}

void append(json& array, const json& more) {
  for (const json& one : more) array.push_back(one);
}

// The container of the workers in the template; null: it has none.
const json& worker_template(const KubernetesSettings& settings) {
  static const json none;
  for (const json& container : array_at(settings.pod_template, {"spec", "containers"}))
    if (text_at(container, {"name"}) == kContainer) return container;
  return none;
}

json controller(const KubernetesSettings& settings, const JobManifest& job) {
  const std::string run = fmt::format("{}/{}", kRuns, job.name);
  const std::string script = fmt::format(
      "if [ -e {0}/config.json ]; then exec {1} --resume {0}; fi; exec {1} {2}/config.json --run "
      "{0}",
      run, (settings.programs / "scavenger-train").string(), kConfigFolder);
  const std::string memory = fmt::format("{}Mi", std::llround(job.memory_gib * 1024.0));
  json made = {{"name", "controller"},
               {"image", settings.image},
               {"command", {"/bin/sh", "-c", script}},
               {"env",
                {from_pod("POD_NAME", "metadata.name"),
                 from_pod("POD_UID", "metadata.uid"),
                 from_pod("POD_IP", "status.podIP"),
                 {{"name", "HOME"}, {"value", kRuns}}}},
               {"resources",
                {{"requests", {{"cpu", cores_text(job.cores)}, {"memory", memory}}},
                 {"limits", {{"memory", memory}}}}},
               {"securityContext",
                {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}}},
               {"volumeMounts",
                {{{"name", kConfigVolume}, {"mountPath", kConfigFolder}, {"readOnly", true}},
                 {{"name", kRunsVolume}, {"mountPath", kRuns}}}}};
  const json& worker = worker_template(settings);
  append(made["env"], array_at(worker, {"env"}));
  append(made["volumeMounts"], array_at(worker, {"volumeMounts"}));
  for (const char* key : {"image", "imagePullPolicy", "envFrom"})
    if (worker.contains(key)) made[key] = worker[key];
  return made;
}

// It reads and prepares the data, so it needs the volumes of the workers' template, and the same
// image. Places, priorities and labels of the template are those of workers alone: a controller on
// a spot node, or in a queue of workers, would be the first to go.
json controller_pod(const KubernetesSettings& settings, const JobManifest& job) {
  json pod = {{"serviceAccountName", job.name},
              {"restartPolicy", "Never"},
              {"terminationGracePeriodSeconds", kGraceSeconds},
              {"securityContext",
               {{"runAsNonRoot", true},
                {"runAsUser", kUser},
                {"fsGroup", kUser},
                {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
              {"containers", json::array({controller(settings, job)})},
              {"volumes",
               {{{"name", kConfigVolume}, {"configMap", {{"name", job.name}}}},
                {{"name", kRunsVolume}, {"persistentVolumeClaim", {{"claimName", job.name}}}}}}};
  append(pod["volumes"], array_at(settings.pod_template, {"spec", "volumes"}));
  const json& secrets = value_at(settings.pod_template, {"spec", "imagePullSecrets"});
  if (!secrets.is_null()) pod["imagePullSecrets"] = secrets;
  const json& security = value_at(settings.pod_template, {"spec", "securityContext"});
  if (security.is_object()) pod["securityContext"].update(security);
  return pod;
}

json batch_job(const KubernetesSettings& settings, const JobManifest& job) {
  json made = object("batch/v1", "Job", job);
  made["spec"] = {
      {"backoffLimit", kTries},
      {"podFailurePolicy",
       {{"rules",
         {{{"action", "Ignore"},
           {"onPodConditions", json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}})}},
          {{"action", "FailJob"},
           {"onExitCodes",
            {{"containerName", "controller"},
             {"operator", "In"},
             {"values", json::array({kWrongInput})}}}}}}}},
      {"template",
       {{"metadata", {{"labels", {{"app.kubernetes.io/name", "scavenger"}}}}},
        {"spec", controller_pod(settings, job)}}}};
  return made;
}

// RFC 1123: what objects, and labels with their names, may be called.
void check_name(const char* option, const std::string& name) {
  static const std::regex label("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");
  if (std::regex_match(name, label)) return;
  throw InputError({.what = "\"" + name + "\" is no name in a cluster",
                    .where = option,
                    .remedy = "use at most 63 small letters, digits and hyphens, none at an end"});
}

void check(const JobManifest& job) {
  static const std::regex quantity("[0-9]*[1-9][0-9]*([.][0-9]+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)?");
  check_name("--name", job.name);
  if (!job.namespace_name.empty()) check_name("--namespace", job.namespace_name);
  if (!std::regex_match(job.storage, quantity))
    throw InputError({.what = "\"" + job.storage + "\" is no amount of storage",
                      .where = "--storage",
                      .remedy = "write it as 10Gi"});
  if (!(job.cores >= 0.001 && job.cores <= 1e4))
    throw InputError({.what = "a container has more than no cores",
                      .where = "--cores",
                      .remedy = "use a number from 0.001 to 10000"});
  if (!(job.memory_gib >= 0.01 && job.memory_gib <= 1e6))
    throw InputError({.what = "a container has more than no memory",
                      .where = "--memory-gib",
                      .remedy = "use a number from 0.01 to 1000000"});
}

}  // namespace

json job_manifests(const KubernetesSettings& settings, const JobManifest& job) {
  check(job);
  return {{"apiVersion", "v1"},
          {"kind", "List"},
          {"items",
           {object("v1", "ServiceAccount", job), role(job), role_binding(job), config_map(job),
            volume_claim(job), batch_job(settings, job)}}};
}

}  // namespace scavenger::kubernetes
