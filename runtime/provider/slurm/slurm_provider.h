// Provides places for workers in jobs of Slurm: jobs that it submits, or the one that this process
// runs in. A job reserves the places on a node, and each worker is started as a step of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/provider/lessor.h"
#include "runtime/provider/provider_factory.h"
#include "runtime/provider/slurm/slurm_queue.h"
#include "runtime/provider/slurm/slurm_settings.h"

namespace scavenger {

// The places of one job on one node.
struct SlurmJob {
  const SlurmKind* kind = nullptr;
  std::uint32_t places = 1;
  std::string number;         // empty: sbatch has not answered yet
  std::string node;           // empty: not known yet
  double gib_per_core = 0.0;  // of memory, if several workers share it; 0: Slurm gives out none
  std::set<MachineId> workers;
  std::optional<Refusal> refusal;  // sbatch's
  bool is_ours = true;             // false: the job that this process runs in
  bool runs = false;
  bool has_notice = false;  // its workers were told that it ends
  bool is_dropped = false;  // cancelled, or about to be
  // The time that it had when it was seen running first. Negative: no limit, or not known.
  double whole_seconds = -1.0;
  double runs_since = 0.0;                     // on the provider's clock
  std::shared_ptr<SlurmJob> replacement = {};  // for its workers, submitted before it ends
  bool is_spare = false;                       // a replacement that no worker has taken yet
  std::weak_ptr<SlurmJob> replaces = {};
};

// Returns how long before the end of a job that had `whole_seconds` its replacement is submitted.
// At most half of that, because short jobs would be replaced all the time. Pure.
double slurm_replace_seconds(double replace_seconds, double whole_seconds);

// It has more than 25 methods: those of its port, and the steps of a job's life in the queue.
class SlurmProvider final : public Lessor {
 public:
  // `clock` must outlive the provider.
  SlurmProvider(asio::io_context& io, const Clock& clock, SlurmSettings settings);

  std::string name() const override { return "slurm"; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }
  std::string controller_address() const override { return controller_address_; }

 private:
  using JobPointer = std::shared_ptr<SlurmJob>;

  awaitable<void> open() override;
  awaitable<Machine> obtain(MachineId id, const MachineRequest& request) override;
  awaitable<void> give_back(MachineId id) override;
  awaitable<std::vector<std::string>> close() override;

  // ---- Before the first request.
  void find_address(const std::string& node_address);
  void take_allocation(const std::vector<std::string>& nodes);

  // ---- Places.
  std::vector<const SlurmKind*> kinds_for(const std::string& type) const;
  bool is_used_up(const SlurmKind& kind) const;
  JobPointer job_with_room(const SlurmKind& kind) const;
  JobPointer job_of(MachineId id) const;
  awaitable<Machine> take(MachineId id, const SlurmKind* kind, double limit_seconds);
  awaitable<void> wait_until_it_runs(MachineId id, JobPointer job, double limit_seconds);
  awaitable<std::string> address_of(MachineId id, JobPointer job);
  awaitable<Machine> machine_in(MachineId id, JobPointer job, bool is_early);

  // ---- Jobs.
  JobPointer add_job(const SlurmKind& kind);
  awaitable<void> submit(JobPointer job);
  awaitable<void> submit_counted(JobPointer job);
  awaitable<void> attend(JobPointer job);
  awaitable<void> note_start(JobPointer job);
  awaitable<void> submit_replacement(JobPointer job);
  void note_end_ahead(const JobPointer& job, double seconds_left);
  awaitable<void> drop(JobPointer job);

  double seconds_since(double begin) const { return clock_.now_seconds() - begin; }

  const Clock& clock_;
  const SlurmSettings settings_;
  const MachineCatalogue catalogue_;
  std::vector<JobPointer> jobs_;
  int submissions_ = 0;  // under way
  std::string controller_address_;
  std::map<std::string, std::string> node_addresses_;  // at settings_.interface, if one is named
  SlurmQueue queue_;
};

const ProviderFactory& slurm_provider_factory();

}  // namespace scavenger
