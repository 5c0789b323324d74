// Everything outside of itself that a job depends on, for the coordinator to be given: the real
// world (job_run.h), or a simulated one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "elastic/coordinator/commands/job_command.h"
#include "elastic/coordinator/job/job_record.h"
#include "elastic/coordinator/job/job_start.h"
#include "elastic/coordinator/staffing/cluster.h"
#include "runtime/checkpoint/disk.h"
#include "runtime/net/event_loop.h"
#include "runtime/provider/provider.h"

namespace scavenger::elastic {

// The references must outlive the coordinator.
struct JobWorld {
  EventLoop& loop;     // all time passes here
  Provider& provider;  // where workers' machines come from
  Disk& disk;          // for checkpoints; the event log is a file
  Display display;
  std::uint32_t host_cores = 1;

  // Makes the processes' side of the job, once the provider is ready. `config_json`: the resolved
  // configuration.
  std::function<std::unique_ptr<Cluster>(const JobStart& start, const std::string& config_json,
                                         ClusterListener& listener)>
      open_cluster;
  // Hears what people ask of the job, as long as the result lives. Empty: nobody can ask.
  using Obey = std::function<nlohmann::json(const JobCommand&)>;
  std::function<std::shared_ptr<void>(Obey obey)> hear_commands;
};

}  // namespace scavenger::elastic
