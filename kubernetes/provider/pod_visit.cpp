#include "kubernetes/provider/pod_visit.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "kubernetes/api/names.h"
#include "kubernetes/provider/pod_view.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"

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

awaitable<bool> look_and_delete(const KubernetesSettings& settings, const PodVisit& visit,
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
    out << (is_done ? fmt::format("deleted {}\n", pod.name)
                    : fmt::format("NOT deleted {}: {}\n", pod.name, result.fault->message))
        << std::flush;
  }
  co_return is_all;
}

}  // namespace

KubernetesSettings settings_of_job(const std::filesystem::path& run_or_config) {
  const bool is_run = std::filesystem::is_directory(run_or_config);
  const std::filesystem::path file = is_run ? run_or_config / "config.json" : run_or_config;
  const JobConfig config =
      is_run ? read_resolved_config(file) : load_job_config(file, {}, DataFiles::kNotChecked);
  if (config.provider.type != ProviderType::kKubernetes)
    throw InputError(
        {.what = "this job has no machines in Kubernetes",
         .where = file,
         .remedy = "name a run folder or a configuration whose provider is of type kubernetes"});
  return kubernetes_settings(config.provider);
}

bool visit_job_pods(const KubernetesSettings& settings, const PodVisit& visit, std::ostream& out) {
  asio::io_context io;
  const SteadyClock clock;
  KubeClient client(io, find_cluster(settings.access, clock), settings.patience, clock);
  std::exception_ptr failure;
  bool is_done = false;
  asio::co_spawn(io, look_and_delete(settings, visit, client, out),
                 [&](std::exception_ptr error, bool result) {
                   failure = std::move(error);
                   is_done = result;
                 });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return is_done;
}

}  // namespace scavenger::kubernetes
