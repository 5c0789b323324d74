// Provides a Slurm job for each worker: the job reserves the worker's place on a node, and the
// worker is started as a step of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/provider_config.h"
#include "runtime/provider/lessor.h"
#include "runtime/provider/provider_factory.h"
#include "runtime/provider/slurm/slurm_queue.h"

namespace scavenger {

struct SlurmSettings {
  std::string partition;  // empty: Slurm's default
  std::uint32_t cores = 1;
  double price_per_hour = 0.0;
  std::vector<std::string> options;         // options for sbatch
  std::vector<std::string> launch_options;  // options for srun, which starts a worker
  std::vector<std::string> launch_prefix;   // words before scavenger-worker
  std::vector<std::string> prelude;         // lines of bash that are run before it
  double wait_seconds = 600.0;              // the longest wait in the queue
  std::filesystem::path program_folder;
};

// Requires a checked configuration.
SlurmSettings slurm_settings(const ProviderConfig& config);

// Returns the name of a job of process `owner` on this machine: "scavenger-myhost-1234".
std::string slurm_job_name(std::int64_t owner);

// Cancels the jobs of processes of this machine that have ended, and returns which. Returns nothing
// if there is no Slurm.
awaitable<std::vector<std::string>> cancel_abandoned_slurm_jobs();

// Returns an entry for the partition, without a count, since only Slurm knows how many nodes it
// has.
MachineCatalogue slurm_catalogue(const SlurmSettings& settings);

class SlurmProvider final : public Lessor {
 public:
  SlurmProvider(asio::io_context& io, SlurmSettings settings);

  std::string name() const override { return "slurm"; }
  const MachineCatalogue& catalogue() const override { return catalogue_; }

 private:
  awaitable<void> open() override;
  awaitable<Machine> obtain(MachineId id, const MachineRequest& request) override;
  awaitable<void> give_back(MachineId id) override;
  awaitable<std::vector<std::string>> close() override;

  awaitable<std::string> submit() const;
  awaitable<std::string> wait_for_node(MachineId id, std::string job);
  awaitable<void> watch(MachineId id, std::string job);

  const SlurmSettings settings_;
  const MachineCatalogue catalogue_;
  std::map<MachineId, std::string> jobs_;
  SlurmQueue queue_;
};

const ProviderFactory& slurm_provider_factory();

}  // namespace scavenger
