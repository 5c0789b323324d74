// A job of the real coordinator in a simulated world: its machines, processes, disk and clock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "elastic/coordinator/coordinator.h"
#include "test/simulation/simulated_cluster.h"
#include "test/simulation/simulated_provider.h"
#include "test/simulation/virtual_loop.h"
#include "test/support/temporary_folder.h"

namespace scavenger::elastic {

struct SimulatedDisk {
  double write_seconds = 0.05;  // of a checkpoint
  double refusal_share = 0.0;   // of new files: there is no room
};

struct JobScenario {
  JobConfig config;
  SimulatedModel model;
  Market market;
  Mishaps mishaps;
  SimulatedDisk disk;
  std::uint64_t seed = 0;
  bool encodes = false;
  // What people do, by the job's time in seconds.
  std::vector<std::pair<double, JobCommand>> commands;
};

struct JobOutcome {
  int exit_code = 0;
  Status status = Status::kFailed;
  std::string reason;
  double seconds = 0.0;
  double cost = 0.0;
  std::uint64_t iterations = 0;
  std::uint32_t workers = 0;  // at the end
  std::uint32_t batch_size = 0;
  std::uint32_t machines = 0;
  std::uint32_t notices = 0;
  std::uint32_t memberships = 0;
  ClusterCounts cluster;
  std::optional<std::uint64_t> last_checkpoint;
  std::vector<std::string> faults;  // invariants that do not hold
};

// A configuration that can be read back, on rented machines, with the target that the simulated
// model reaches.
JobConfig simulated_config(std::uint32_t workers, std::uint32_t batch_size);

class SimulatedJob final {
 public:
  explicit SimulatedJob(JobScenario scenario);

  // Runs the job to its end, and checks what holds for every job.
  JobOutcome run();

  // After run().
  std::filesystem::path folder() const { return folder_.path(); }
  std::vector<LoggedEvent> events() const;
  // Before run(), for what is to happen at a time of the job.
  VirtualLoop& loop() { return loop_; }
  SimulatedCluster& cluster() { return *cluster_; }
  Coordinator& coordinator() { return *coordinator_; }
  const ClusterCounts& counts() const { return counts_; }
  const MachineCatalogue& catalogue() const { return provider_.catalogue(); }

 private:
  JobWorld world();
  JobStart start() const;
  void check(JobOutcome& outcome) const;

  const JobScenario scenario_;
  const TemporaryFolder folder_;
  VirtualLoop loop_;
  SimulatedProvider provider_;
  RandomStream random_;
  std::unique_ptr<Disk> disk_;
  std::ostringstream screen_;
  ClusterCounts counts_;
  SimulatedCluster* cluster_ = nullptr;  // the coordinator's
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace scavenger::elastic
