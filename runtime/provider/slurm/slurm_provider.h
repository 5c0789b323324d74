// Provides places for workers in jobs of Slurm: jobs that it submits, or the one that this process
// runs in. A job reserves the places on a node, and each worker is started as a step of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/provider/lessor.h"
#include "runtime/provider/provider_factory.h"
#include "runtime/provider/slurm/slurm_job.h"
#include "runtime/provider/slurm/slurm_queue.h"
#include "runtime/provider/slurm/slurm_settings.h"

namespace scavenger {

// It has more than 25 methods: those of its port, and the steps of a job's life in the queue.
class SlurmProvider final : public Lessor {
 public:
  // `clock` must outlive the provider.
  SlurmProvider(asio::io_context& io, const Clock& clock, SlurmSettings settings);

  std::string name() const override { return "slurm"; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }
  std::string controller_address() const override { return controller_address_; }
  void note_leaving(MachineId id) override;

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
  SlurmKinds kinds_for(const std::string& type) const;
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
  void add_replacement(const JobPointer& job, double seconds_left);
  awaitable<void> submit_replacement(JobPointer job);
  void note_end_ahead(const JobPointer& job, double seconds_left);
  awaitable<void> drop(JobPointer job);

  double seconds_since(double begin) const { return clock_.now_seconds() - begin; }

  const Clock& clock_;
  const SlurmSettings settings_;
  const MachineCatalogue catalogue_;
  SlurmJobs jobs_;
  int submissions_ = 0;  // under way
  std::string controller_address_;
  std::map<std::string, std::string> node_addresses_;  // at settings_.interface, if one is named
  SlurmQueue queue_;
};

const ProviderFactory& slurm_provider_factory();

}  // namespace scavenger
