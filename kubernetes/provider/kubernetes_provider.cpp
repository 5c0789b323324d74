#include "kubernetes/provider/kubernetes_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kubernetes/api/names.h"
#include "runtime/base/log.h"
#include "runtime/base/random.h"
#include "runtime/net/spawn.h"

namespace scavenger::kubernetes {
namespace {

constexpr int kDisposalTries = 10;
constexpr double kReleaseGraceSeconds = 5.0;  // the worker has been told to leave before
constexpr double kGoneSeconds = 90.0;         // for a Pod that is deleted to be gone
constexpr double kEndSeconds = 120.0;         // the same for all, at the end
constexpr double kLookSeconds = 0.2;          // between two looks at what the watch has told
constexpr int kLogLines = 12;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

json owner_from_environment() {
  const std::string name = environment("POD_NAME"), uid = environment("POD_UID");
  if (name.empty() || uid.empty()) return nullptr;
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", name}, {"uid", uid}};
}

}  // namespace

KubernetesProvider::KubernetesProvider(asio::io_context& io, KubernetesSettings settings,
                                       const std::string& job_name,
                                       const std::filesystem::path& state_folder,
                                       const Clock& clock)
    : Lessor(io),
      settings_(std::move(settings)),
      clock_(clock),
      catalogue_(kubernetes_catalogue(settings_)),
      journal_(state_folder, job_name),
      random_(random_seed(), "names in the cluster"),
      controller_address_(settings_.controller_address),
      owner_(owner_from_environment()) {
  ClusterAccess access = find_cluster(settings_.access, clock_);
  namespace_ = settings_.namespace_name;
  if (namespace_.empty()) namespace_ = access.namespace_name;
  if (namespace_.empty()) namespace_ = "default";
  if (controller_address_.empty()) controller_address_ = environment("POD_IP");
  client_ = std::make_shared<KubeClient>(io, std::move(access), settings_.patience, clock_);
}

KubernetesProvider::~KubernetesProvider() {
  if (pod_watch_) pod_watch_->stop();
  if (node_watch_) node_watch_->stop();
}

std::string KubernetesProvider::pods_path() const {
  return fmt::format("/api/v1/namespaces/{}/pods", namespace_);
}

// ---- Begin and end. ----

awaitable<void> KubernetesProvider::open() {
  log_info("Kubernetes: {}, by {}, namespace {}, job {}", client_->access().server,
           client_->access().description, namespace_, journal_.job_id());
  std::optional<Fault> fault;
  try {
    co_await check_permissions();
    // What an earlier process has left: its workers do not know us, so they are of no use.
    const ObjectList left = co_await client_->list(pods_path(), job_query(journal_.job_id()));
    for (const json& pod : left.items) dispose(text_at(pod, {"metadata", "name"}));
  } catch (const KubeError& error) {
    fault = error.fault();
  }
  if (fault) throw MachineRefused(refusal_of(*fault));
  const std::set<std::string> open = journal_.open();
  for (const std::string& pod : open) dispose(pod);
  start_watches();
}

// What is not allowed is told before anything is asked for.
awaitable<void> KubernetesProvider::check_permissions() {
  std::vector<std::string> missing;
  const std::vector<std::pair<const char*, const char*>> needed = {
      {"create", "pods"}, {"get", "pods"},    {"list", "pods"},
      {"watch", "pods"},  {"delete", "pods"}, {"create", "secrets"}};
  for (const auto& [verb, resource] : needed) {
    const json review = {{"apiVersion", "authorization.k8s.io/v1"},
                         {"kind", "SelfSubjectAccessReview"},
                         {"spec",
                          {{"resourceAttributes",
                            {{"namespace", namespace_}, {"verb", verb}, {"resource", resource}}}}}};
    json answer;
    try {
      answer =
          co_await client_->ask("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review);
    } catch (const KubeError& error) {
      const FaultKind kind = error.fault().kind;
      if (kind != FaultKind::kPermission && kind != FaultKind::kNotFound) throw;
      co_return;  // such questions are not allowed here: then each call tells
    }
    const json& allowed = value_at(answer, {"status", "allowed"});
    if (!allowed.is_boolean() || !allowed.get<bool>())
      missing.push_back(fmt::format("{} {}", verb, resource));
  }
  if (missing.empty()) co_return;
  std::string list = missing.front();
  for (std::size_t i = 1; i < missing.size(); ++i) list += ", " + missing[i];
  const Fault fault{.kind = FaultKind::kPermission,
                    .message = "this account cannot " + list + " in this namespace"};
  throw MachineRefused(refusal_of(fault));
}

void KubernetesProvider::start_watches() {
  pod_watch_ =
      ObjectWatch::start(io(), client_, pods_path(), job_query(journal_.job_id()), settings_.watch,
                         {.on_list = [this](const std::vector<json>& pods) { take_list(pods); },
                          .on_change = [this](const json& pod) { take_change(pod); },
                          .on_removed = [this](const json& pod) { take_removal(pod); },
                          .on_refused =
                              [](const Fault& fault) {
                                log_warning("this job's Pods cannot be watched: {}", fault.message);
                              }});
  if (!settings_.watch_nodes) return;
  node_watch_ = ObjectWatch::start(
      io(), client_, "/api/v1/nodes", "", settings_.watch,
      {.on_list =
           [this](const std::vector<json>& nodes) {
             leaving_nodes_.clear();
             for (const json& node : nodes) take_node(node);
           },
       .on_change = [this](const json& node) { take_node(node); },
       .on_removed = [](const json&) {},
       .on_refused =
           [](const Fault&) {
             log_info("nodes may not be read, so there is no notice before a Pod's own");
           }});
}

awaitable<std::vector<std::string>> KubernetesProvider::close() {
  if (node_watch_) node_watch_->stop();
  const double until = clock_.now_seconds() + kEndSeconds;
  std::vector<std::string> left;
  do {
    left.clear();
    try {
      const ObjectList found = co_await client_->list(pods_path(), job_query(journal_.job_id()));
      for (const json& pod : found.items) left.push_back(text_at(pod, {"metadata", "name"}));
    } catch (const KubeError& error) {
      left.push_back(fmt::format("namespace {} ({})", namespace_, error.problem().what));
      break;
    }
    for (const std::string& pod : left)
      if (!disposals_.contains(pod)) dispose(pod);
    if (!left.empty() || !disposals_.empty()) co_await rest(kLookSeconds);
  } while ((!left.empty() || !disposals_.empty()) && clock_.now_seconds() < until);
  if (pod_watch_) pod_watch_->stop();
  co_return left;
}

// ---- The end of one machine. ----

awaitable<void> KubernetesProvider::give_back(MachineId id) {
  if (!pods_.contains(id)) co_return;
  bool is_known = true;
  if (is_abandoned(id)) is_known = co_await find_out(id);
  const std::string name = pods_.at(id).name;
  if (!is_known) unexplained_[name] = *pods_.at(id).view;
  pods_.erase(id);
  dispose(name);
  while (disposals_.contains(name)) co_await rest(kLookSeconds / 4);
  const bool is_unended = unended_pods_.erase(name) > 0;
  const auto unexplained = unexplained_.extract(name);
  if (!unexplained) co_return;
  const PodView& view = unexplained.mapped();
  if (!view.disruption.empty())
    judge(id, pod_loss(view, true));
  else if (is_unended)
    judge(id, {fmt::format("does not answer: its node {} has not ended its Pod", view.node)});
}

// If a node goes without notice, the worker's connection may end before the cluster knows more.
awaitable<bool> KubernetesProvider::find_out(MachineId id) {
  const double until = clock_.now_seconds() + settings_.judge_seconds;
  for (;;) {
    co_await look_at(id);
    const Pod& pod = pods_.at(id);
    if (pod.is_removed || (pod.view && (pod.view->has_ended() || pod_notice(*pod.view)))) break;
    if (clock_.now_seconds() >= until) co_return false;
    co_await rest(kLookSeconds);
  }
  const bool was_removed = pods_.at(id).is_removed;
  const PodView view = *pods_.at(id).view;
  MachineLoss loss = pod_loss(view, was_removed);
  if (!loss.was_taken && !was_removed)
    loss.last_words = co_await client_->log_end(pods_path() + "/" + view.name, kLogLines);
  judge(id, std::move(loss));
  co_return true;
}

void KubernetesProvider::dispose(const std::string& pod) {
  if (disposals_.insert(pod).second) spawn(io(), dispose_of(pod));
}

// Returns when the Pod is gone. One whose node does not answer stays for longer: the cluster has
// then taken its deletion, and end() names it.
awaitable<void> KubernetesProvider::dispose_of(std::string pod) {
  for (int i = 0; i < kDisposalTries; ++i) {
    const ChangeResult result =
        co_await client_->remove(pods_path() + "/" + pod, kReleaseGraceSeconds);
    if (result.outcome == Outcome::kDone) break;
    log_warning("Pod {} could not be deleted yet: {}", pod, result.fault->message);
    if (result.outcome == Outcome::kRefused) {
      disposals_.erase(pod);
      co_return;
    }
  }
  const double begin = clock_.now_seconds();
  const double until = begin + kGoneSeconds;
  bool is_there = true;
  for (double pause = kLookSeconds; is_there && clock_.now_seconds() < until;
       pause = std::min(pause * 1.5, 5.0)) {
    try {
      const auto found = co_await client_->find(pods_path() + "/" + pod);
      is_there = found.has_value();
    } catch (const KubeError& error) {
      log_warning("cannot see whether Pod {} is gone: {}", pod, error.fault().message);
    }
    if (is_there) co_await rest(pause);
  }
  if (!is_there) journal_.note_end(pod);
  if (clock_.now_seconds() - begin > kReleaseGraceSeconds + settings_.dead_node_seconds)
    unended_pods_.insert(pod);
  disposals_.erase(pod);
}

// ---- What became of them. ----

std::optional<MachineId> KubernetesProvider::owner_of(const std::string& pod) const {
  for (const auto& [id, known] : pods_)
    if (known.name == pod) return id;
  return std::nullopt;
}

void KubernetesProvider::take_list(const std::vector<json>& pods) {
  std::set<std::string> names;
  for (const json& pod : pods) {
    names.insert(text_at(pod, {"metadata", "name"}));
    take_change(pod);
  }
  // No watch was under way meanwhile, so what it saw before and is not listed now is gone.
  std::vector<MachineId> removed;
  for (const auto& [id, pod] : pods_)
    if (pod.was_watched && !names.contains(pod.name)) removed.push_back(id);
  for (const MachineId id : removed) {
    pods_.at(id).is_removed = true;
    note_state(id);
  }
}

void KubernetesProvider::note_unexplained(const PodView& view) {
  const auto found = unexplained_.find(view.name);
  if (found != unexplained_.end()) found->second = view;
}

void KubernetesProvider::take_change(const json& object) {
  PodView view = pod_view(object);
  note_unexplained(view);
  const std::optional<MachineId> id = owner_of(view.name);
  if (!id) {
    if (disposals_.contains(view.name) || view.is_going) return;
    log_warning("Pod {} belongs to no request: deleting it", view.name);
    dispose(view.name);
    return;
  }
  Pod& pod = pods_.at(*id);
  pod.was_watched = true;
  if (!view.node.empty() && pod.scheduled_seconds == 0.0)
    pod.scheduled_seconds = clock_.now_seconds();
  pod.view = std::move(view);
  note_state(*id);
}

void KubernetesProvider::take_removal(const json& object) {
  const PodView view = pod_view(object);
  note_unexplained(view);
  const std::optional<MachineId> id = owner_of(view.name);
  if (!id) return;
  pods_.at(*id).view = view;
  pods_.at(*id).is_removed = true;
  note_state(*id);
}

void KubernetesProvider::take_node(const json& node) {
  const std::string name = text_at(node, {"metadata", "name"});
  const auto reason = node_notice(node);
  if (!reason) {
    leaving_nodes_.erase(name);
    return;
  }
  leaving_nodes_[name] = *reason;
  std::vector<MachineId> there;
  for (const auto& [id, pod] : pods_)
    if (pod.is_ready && pod.view && pod.view->node == name) there.push_back(id);
  for (const MachineId id : there) tell_once(id, {0.0, *reason});
}

// Tells what is new about a Pod that is ready.
void KubernetesProvider::note_state(MachineId id) {
  const Pod& pod = pods_.at(id);
  if (!pod.is_ready || !is_wanted(id) || !pod.view) return;
  if (pod.is_removed || pod.view->has_ended()) {
    spawn(io(), tell_loss(id, *pod.view, pod.is_removed));
    return;
  }
  if (const auto notice = pod_notice(*pod.view)) tell_once(id, *notice);
}

void KubernetesProvider::tell_once(MachineId id, const MachineNotice& notice) {
  if (pods_.at(id).notices.insert(notice.reason).second) tell_notice(id, notice);
}

awaitable<void> KubernetesProvider::tell_loss(MachineId id, PodView view, bool was_removed) {
  MachineLoss loss = pod_loss(view, was_removed);
  if (!loss.was_taken && !was_removed)
    loss.last_words = co_await client_->log_end(pods_path() + "/" + view.name, kLogLines);
  lose(id, std::move(loss));
}

}  // namespace scavenger::kubernetes
