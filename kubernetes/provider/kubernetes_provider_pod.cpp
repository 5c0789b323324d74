// The provider's part that gets Pods, and what each needs to start.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kubernetes/api/names.h"
#include "kubernetes/provider/kubernetes_provider.h"
#include "runtime/base/log.h"

namespace scavenger::kubernetes {
namespace {

constexpr double kReadySeconds = 0.05;  // between two looks at what the watch has told
constexpr double kUnseenSeconds = 5.0;  // after which a Pod is asked for without the watch
constexpr double kAgainSeconds = 10.0;  // between two tries if there is no room

RefusalKind kind_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kRate:
      return RefusalKind::kRate;
    case FaultKind::kQuota:
      return RefusalKind::kQuota;
    case FaultKind::kPermission:
    case FaultKind::kCredentials:
    case FaultKind::kStranger:
      return RefusalKind::kPermission;
    case FaultKind::kPolicy:
    case FaultKind::kInvalid:
    case FaultKind::kNotFound:
    case FaultKind::kExists:
    case FaultKind::kExpired:
      return RefusalKind::kInvalid;
    case FaultKind::kServer:
    case FaultKind::kUnreachable:
    case FaultKind::kConflict:
      return RefusalKind::kUnreachable;
  }
  return RefusalKind::kUnreachable;
}

// Only the user can change what is refused so.
bool is_final(RefusalKind kind) {
  return kind == RefusalKind::kInvalid || kind == RefusalKind::kPermission;
}

Refusal refusal(RefusalKind kind, std::string what, std::string where, std::string remedy) {
  return {kind,
          {.what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)},
          kAgainSeconds};
}

}  // namespace

Refusal KubernetesProvider::refusal_of(const Fault& fault) const {
  const RefusalKind kind = kind_of(fault.kind);
  return {kind, problem_of(fault, "namespace " + namespace_),
          is_final(kind) ? std::nullopt : std::optional(kAgainSeconds)};
}

bool KubernetesProvider::has_ready_pods() const {
  return std::any_of(pods_.begin(), pods_.end(),
                     [](const auto& item) { return item.second.is_ready; });
}

// While there are Pods, a job goes on with these, and asks for more again. If there is none, and
// none could be had for so long, the capacity is gone.
Refusal KubernetesProvider::refusal_of_all(std::optional<Refusal> last) const {
  Refusal result = last ? std::move(*last)
                        : refusal(RefusalKind::kCapacity, "no Pod of these kinds may be added",
                                  "provider.machines", "raise `count` of one, or add kinds");
  if (!has_ready_pods()) result.retry_after_seconds.reset();
  return result;
}

std::vector<const MachineKind*> KubernetesProvider::kinds_for(const std::string& type) const {
  std::vector<const MachineKind*> kinds;
  for (const MachineKind& kind : settings_.machines)
    if (type.empty() || kind.type == type) kinds.push_back(&kind);
  return kinds;
}

bool KubernetesProvider::is_used_up(const MachineKind& kind) const {
  const auto used = std::count_if(pods_.begin(), pods_.end(),
                                  [&](const auto& item) { return item.second.kind == &kind; });
  return kind.count > 0 && std::cmp_greater_equal(used, kind.count);
}

awaitable<Machine> KubernetesProvider::obtain(MachineId id, const MachineRequest& request) {
  const std::vector<const MachineKind*> kinds = kinds_for(request.type);
  if (kinds.empty()) {
    Refusal unknown = refusal(RefusalKind::kInvalid, "there is no such kind: " + request.type,
                              "provider.machines", "name one of those that are listed there");
    unknown.retry_after_seconds.reset();
    throw MachineRefused(std::move(unknown));
  }
  const double give_up = clock_.now_seconds() + settings_.wait_seconds;
  std::optional<Refusal> last;
  while (is_wanted(id)) {
    for (std::size_t i = 0; i < kinds.size() && is_wanted(id); ++i) {
      const double now = clock_.now_seconds();
      const double share = (give_up - now) / static_cast<double>(kinds.size() - i);
      if (is_used_up(*kinds[i]) || share <= 0.0) continue;
      auto machine = co_await take(id, request, kinds[i], now + share, last);
      if (machine) co_return std::move(*machine);
    }
    if (clock_.now_seconds() + kAgainSeconds >= give_up) break;
    co_await pause(id, kAgainSeconds);
  }
  throw MachineRefused(refusal_of_all(std::move(last)));
}

awaitable<std::optional<Machine>> KubernetesProvider::take(MachineId id, MachineRequest request,
                                                           const MachineKind* kind,
                                                           double give_up_seconds,
                                                           std::optional<Refusal>& last) {
  Pod pod;
  pod.kind = kind;
  pod.is_spot = request.spot && kind->has_spot();
  pod.name =
      pod_name(journal_.job_id(), request.worker, static_cast<std::uint32_t>(random_.bits()));
  PodOrder order{pod.name, journal_.job_id(), request.worker, pod.is_spot, owner_};
  journal_.note_creation(pod.name);
  pods_[id] = std::move(pod);
  const std::optional<Fault> fault = co_await make(id, std::move(order), request.ticket);
  if (fault)
    last = refusal_of(*fault);
  else
    last = co_await wait_until_ready(id, give_up_seconds);
  if (last) {
    last->machine_type = kind->type;
    drop(id, !fault || is_passing(*fault) || pods_.at(id).view.has_value());
    if (is_final(last->kind)) throw MachineRefused(*last);
    tell_delayed(id, *last);
    co_return std::nullopt;
  }
  pods_.at(id).is_ready = true;
  has_run_ = true;
  note_state(id);
  co_return machine_of(pods_.at(id));
}

// Forgets a Pod that is of no use for its request.
void KubernetesProvider::drop(MachineId id, bool may_exist) {
  const std::string name = pods_.at(id).name;
  pods_.erase(id);
  if (may_exist)
    dispose(name);
  else
    journal_.note_end(name);
}

awaitable<std::optional<Fault>> KubernetesProvider::make(MachineId id, PodOrder order,
                                                         std::string ticket) {
  json manifest = pod_manifest(settings_, *pods_.at(id).kind, order);
  ChangeResult made = co_await client_->create(pods_path(), std::move(manifest));
  if (made.outcome != Outcome::kDone) co_return made.fault;
  std::optional<Fault> fault;
  try {
    if (text_at(made.object, {"metadata", "uid"}).empty()) {
      const auto there = co_await client_->find(pods_path() + "/" + order.name);
      if (!there) co_return Fault{.message = "the Pod was taken away before it was ready"};
      made.object = *there;
    }
  } catch (const KubeError& error) {
    fault = error.fault();
  }
  if (fault) co_return fault;
  if (!pods_.at(id).view) pods_.at(id).view = pod_view(made.object);
  json secret = ticket_secret(order, text_at(made.object, {"metadata", "uid"}), ticket);
  const std::string collection = fmt::format("/api/v1/namespaces/{}/secrets", namespace_);
  const ChangeResult kept = co_await client_->create(collection, std::move(secret));
  if (kept.outcome != Outcome::kDone) co_return kept.fault;
  co_return std::nullopt;
}

awaitable<std::optional<Refusal>> KubernetesProvider::wait_until_ready(MachineId id,
                                                                       double give_up_seconds) {
  std::string told;
  double looked = clock_.now_seconds();
  while (is_wanted(id)) {
    const double now = clock_.now_seconds();
    if (!pods_.at(id).was_watched && now - looked >= kUnseenSeconds) {
      looked = now;
      co_await look_at(id);
    }
    const Pod& pod = pods_.at(id);
    if (pod.is_removed)
      co_return refusal(RefusalKind::kCapacity, "it was deleted before it was ready",
                        "Pod " + pod.name, "see the events of its namespace");
    // One that has ended meanwhile was there, and has a log that says why: its loss is told.
    if (pod.view && (pod.view->is_ready() || ended_by_itself(*pod.view))) co_return std::nullopt;
    if (pod.view)
      if (auto refused = pod_refusal(*pod.view, has_run_)) co_return refused;
    const std::string why = !pod.view                          ? "it is not seen"
                            : !pod.view->unschedulable.empty() ? pod.view->unschedulable
                            : !pod.view->gate.empty()          ? pod.view->gate
                                                               : pod.view->status_word();
    const bool has_no_node = pod.view && pod.view->node.empty();
    Refusal waits = refusal(RefusalKind::kCapacity, "no node takes it: " + why, "Pod " + pod.name,
                            "ask for less, add nodes or kinds to provider.machines, or raise "
                            "provider.wait_seconds");
    if (!has_no_node) waits.problem.what = "it does not start: " + why;
    if (now >= give_up_seconds) co_return waits;
    if (pod.view && !(pod.view->unschedulable + pod.view->gate).empty() &&
        std::exchange(told, why) != why)
      tell_delayed(id, waits);
    co_await pause(id, kReadySeconds);
  }
  co_return refusal(RefusalKind::kUnreachable, "it is not wanted any more",
                    "Pod " + pods_.at(id).name, "");
}

awaitable<void> KubernetesProvider::look_at(MachineId id) {
  const std::string name = pods_.at(id).name;
  try {
    const auto found = co_await client_->find(pods_path() + "/" + name);
    if (!pods_.contains(id)) co_return;
    if (found)
      pods_.at(id).view = pod_view(*found);
    else
      pods_.at(id).is_removed = true;
  } catch (const KubeError& error) {
    log_warning("cannot see Pod {}: {}", name, error.fault().message);
  }
}

Machine KubernetesProvider::machine_of(const Pod& pod) const {
  Machine machine;
  machine.name = pod.name;
  machine.type = pod.kind->type;
  machine.spot = pod.is_spot;
  machine.cores = std::max(1U, static_cast<unsigned>(std::lround(pod.kind->cores)));
  machine.price = price_of_kind(*pod.kind, pod.is_spot);
  if (pod.scheduled_seconds > 0.0)
    machine.charged_seconds = clock_.now_seconds() - pod.scheduled_seconds;
  machine.address = pod.view->address;
  machine.starts_worker = true;
  return machine;
}

}  // namespace scavenger::kubernetes
