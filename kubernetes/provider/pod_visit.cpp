#include "kubernetes/provider/pod_visit.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "kubernetes/api/names.h"
#include "kubernetes/provider/pod_view.h"
#include "runtime/base/clock.h"

namespace scavenger::kubernetes {
namespace {

constexpr double kSweepGraceSeconds = 5.0;

std::string table_of_pods(const std::vector<PodView>& pods) {
  std::string text = fmt::format("{:<34} {:>6} {:<20} {:<24} {:<20}  {}\n", "job", "worker",
                                 "status", "node", "created", "name");
  for (const PodView& pod : pods)
    text +=
        fmt::format("{:<34} {:>6} {:<20} {:<24} {:<20}  {}\n", pod.job, pod.worker,
                    pod.status_word(), pod.node.empty() ? "-" : pod.node, pod.created, pod.name);
  return text;
}

awaitable<bool> look_and_delete(const KubernetesSettings& settings, const MachineVisit& visit,
                                KubeClient& client, std::ostream& out) {
  std::string space = settings.namespace_name;
  if (space.empty()) space = client.access().namespace_name;
  if (space.empty()) space = "default";
  const std::string path = fmt::format("/api/v1/namespaces/{}/pods", space);
  const ObjectList found = co_await client.list(path, job_query(visit.job));
  std::vector<PodView> pods;
  for (const json& pod : found.items) pods.push_back(pod_view(pod));
  out << (pods.empty()
              ? fmt::format("there are no Pods of Scavenger's jobs in namespace {}\n", space)
              : table_of_pods(pods));
  if (!visit.may_delete || pods.empty()) co_return true;
  if (!visit.may_delete(pods.size())) co_return false;
  bool is_all = true;
  for (const PodView& pod : pods) {
    const ChangeResult result = co_await client.remove(path + "/" + pod.name, kSweepGraceSeconds);
    const bool is_done = result.outcome == Outcome::kDone;
    is_all &= is_done;
    out << deletion_text(pod.name, is_done ? std::string() : result.fault->message) << std::flush;
  }
  co_return is_all;
}

}  // namespace

KubernetesSettings settings_of_job(const std::filesystem::path& run_or_config) {
  return kubernetes_settings(
      provider_of_job(run_or_config, ProviderType::kKubernetes, "in Kubernetes"));
}

bool visit_job_pods(const KubernetesSettings& settings, const MachineVisit& visit,
                    std::ostream& out) {
  asio::io_context io;
  const SteadyClock clock;
  KubeClient client(io, find_cluster(settings.access, clock), settings.patience, clock);
  return finish_visit(io, look_and_delete(settings, visit, client, out));
}

}  // namespace scavenger::kubernetes
