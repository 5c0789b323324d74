// A job in the real world: processes, machines, signals, the control socket, the machine's clock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "elastic/coordinator/job/job_facts.h"
#include "elastic/coordinator/job/job_record.h"
#include "runtime/net/asio.h"
#include "runtime/provider/provider.h"

namespace scavenger::elastic {

struct JobOptions {
  std::filesystem::path program_folder;  // where scavenger-ps and scavenger-worker are
  Display display;
  std::uint32_t host_cores = 1;
  // Where workers' machines come from.
  std::function<std::unique_ptr<Provider>(asio::io_context&, const JobStart&)> make_provider;
  // Called before the job begins, once no other process can work on its folder. May throw Error.
  std::function<void()> prepare;
};

// Runs the job to its end. Returns and throws as Coordinator::run() and its constructor.
int run_job(JobStart start, DataSize data, const JobOptions& options);

}  // namespace scavenger::elastic
