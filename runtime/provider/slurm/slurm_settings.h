// The settings of a cluster with Slurm: the configuration's object `provider` of type "slurm"
// (docs/slurm.md). Plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/provider_config.h"
#include "runtime/provider/machine_description.h"

namespace scavenger {

// One kind of Slurm jobs, and what each worker gets of one.
struct SlurmKind {
  MachineDescription machine;  // of one worker; cores are whole ones, GPUs the resource "gpu"
  std::string partition;       // empty: Slurm's default
  std::uint32_t workers_per_job = 1;
  std::uint32_t time_limit_minutes = 0;  // of a job; 0: the partition's
  std::vector<std::string> options;      // for sbatch
};

struct SlurmSettings {
  std::vector<SlurmKind> kinds = {SlurmKind()};  // in this order
  // Places workers on the nodes of the job that this process runs in. No job is submitted.
  bool uses_allocation = false;
  std::vector<std::string> launch_options;  // for srun, which starts a worker
  std::vector<std::string> launch_prefix;   // words before scavenger-worker
  std::vector<std::string> prelude;         // lines of bash that are run before it
  double wait_seconds = 600.0;              // the longest wait in the queue
  // Before the end of a job by its time limit: when workers leave it, and when its replacement is
  // submitted. 0: they are not told.
  double notice_seconds = 60.0;
  double replace_seconds = 300.0;
  std::string interface;                     // of the nodes, such as "ib0"; empty: NodeAddr
  std::string listen_address = "127.0.0.1";  // cluster.listen_address
  std::filesystem::path program_folder;      // on the nodes; empty: same as here
  std::filesystem::path state_folder;        // of the job of this configuration; empty: none
};

// Requires a checked configuration. Throws InputError for kinds that cannot be told apart.
SlurmSettings slurm_settings(const ProviderConfig& config);

// Returns an entry for each kind, with a count if the configuration has one, since only Slurm knows
// how many nodes there are.
MachineCatalogue slurm_catalogue(const SlurmSettings& settings);

}  // namespace scavenger
