// Kubernetes as a provider: one bare Pod for each worker, which starts it by itself.
//
// The job decides which worker leaves, so no controller of the cluster stands between: Pods are
// made, watched and deleted one by one. Each carries the job's label, and the journal in the job's
// state folder says what was asked for. So begin() removes what an earlier process has left, the
// watch removes what no request belongs to, and end() returns only when a list by label is empty.
// Pods belong to the Pod of the controller if it has one, and each Secret with a ticket belongs to
// its Pod, so the cluster itself removes them after it; and a Pod has a longest life.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubernetes/provider/kubernetes_settings.h"
#include "kubernetes/provider/pod_journal.h"
#include "kubernetes/provider/pod_order.h"
#include "kubernetes/provider/pod_view.h"
#include "runtime/base/clock.h"
#include "runtime/provider/lessor.h"

namespace scavenger::kubernetes {

// Thread: the io_context's. It has more than 25 methods: those of its port, and the steps of a Pod
// from the request to its end, which share its journal and what the watches have seen.
class KubernetesProvider final : public Lessor {
 public:
  // `state_folder`: of the job, the same for each of its processes. Throws InputError for settings
  // that cannot be used. The clock must outlive it.
  KubernetesProvider(asio::io_context& io, KubernetesSettings settings, const std::string& job_name,
                     const std::filesystem::path& state_folder, const Clock& clock);
  ~KubernetesProvider() override;

  std::string name() const override { return "kubernetes"; }
  std::string controller_address() const override { return controller_address_; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }

 private:
  struct Pod {
    std::string name;
    const MachineKind* kind = nullptr;
    bool is_spot = false;
    bool is_ready = false;
    std::set<std::string> notices;     // that were told
    double scheduled_seconds = 0.0;    // when it was first seen on a node; 0: never
    std::optional<PodView> view = {};  // as it was seen last
    bool was_watched = false;          // seen by the watch: it would see its end, too
    bool is_removed = false;
  };

  awaitable<void> open() override;
  awaitable<Machine> obtain(MachineId id, const MachineRequest& request) override;
  awaitable<void> give_back(MachineId id) override;
  awaitable<std::vector<std::string>> close() override;

  awaitable<void> check_permissions();
  void start_watches();

  std::vector<const MachineKind*> kinds_for(const std::string& type) const;
  bool is_used_up(const MachineKind& kind) const;
  // A Pod of this kind that runs; nothing if there is none for now, as `last` then says.
  awaitable<std::optional<Machine>> take(MachineId id, MachineRequest request,
                                         const MachineKind* kind, double give_up_seconds,
                                         std::optional<Refusal>& last);
  // The Pod and its Secret. Returns why they are not there.
  awaitable<std::optional<Fault>> make(MachineId id, PodOrder order, std::string ticket);
  awaitable<std::optional<Refusal>> wait_until_ready(MachineId id, double give_up_seconds);
  awaitable<void> look_at(MachineId id);  // without the watch
  void drop(MachineId id, bool may_exist);
  Refusal refusal_of(const Fault& fault) const;
  Refusal refusal_of_all(std::optional<Refusal> last) const;
  Machine machine_of(const Pod& pod) const;
  bool has_ready_pods() const;

  void take_list(const std::vector<json>& pods);
  void take_change(const json& pod);
  void take_removal(const json& pod);
  void take_node(const json& node);
  void note_state(MachineId id);
  void tell_once(MachineId id, const MachineNotice& notice);
  awaitable<void> tell_loss(MachineId id, PodView view, bool was_removed);
  std::optional<MachineId> owner_of(const std::string& pod) const;

  // Waits until the cluster tells what became of a Pod whose worker was lost. False: it does not.
  awaitable<bool> find_out(MachineId id);
  void note_unexplained(const PodView& view);
  void dispose(const std::string& pod);
  awaitable<void> dispose_of(std::string pod);

  std::string pods_path() const;

  const KubernetesSettings settings_;
  const Clock& clock_;
  const MachineCatalogue catalogue_;
  PodJournal journal_;
  RandomStream random_;
  std::string namespace_;
  std::string controller_address_;
  json owner_;
  std::shared_ptr<KubeClient> client_;
  std::shared_ptr<ObjectWatch> pod_watch_;
  std::shared_ptr<ObjectWatch> node_watch_;
  std::map<MachineId, Pod> pods_;
  std::map<std::string, std::string> leaving_nodes_;  // by name: why
  std::set<std::string> disposals_;                   // under way
  std::set<std::string> unended_pods_;                // whose nodes did not end them in time
  std::map<std::string, PodView> unexplained_;        // being deleted after a loss; as seen last
  bool has_run_ = false;  // a Pod has been ready, so the image can be had
};

}  // namespace scavenger::kubernetes
