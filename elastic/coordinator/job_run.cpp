#include "elastic/coordinator/job_run.h"

#include <boost/asio/signal_set.hpp>
#include <utility>

#include "elastic/coordinator/commands/control_socket.h"
#include "elastic/coordinator/coordinator.h"
#include "elastic/coordinator/end_signals.h"
#include "elastic/coordinator/staffing/process_cluster.h"
#include "runtime/base/file.h"
#include "runtime/base/shared_memory.h"
#include "runtime/config/placement.h"
#include "runtime/net/asio_loop.h"

namespace scavenger::elastic {
namespace {

void watch_signals(asio::signal_set& signals, Coordinator& coordinator, EventLoop& loop) {
  signals.async_wait([&](const boost::system::error_code& error, int signal) {
    if (error) return;
    coordinator.interrupt(is_pressing(signal));
    if (!loop.is_stopped()) watch_signals(signals, coordinator, loop);
  });
}

}  // namespace

int run_job(JobStart start, DataSize data, const JobOptions& options) {
  asio::io_context io{1};
  const SteadyClock clock;
  AsioLoop loop(io, clock);
  LocalDisk disk;
  FileDescriptor shared_file;  // the memory that the workers share, kept from their loss
  const std::unique_ptr<Provider> provider = options.make_provider(io, start);
  const std::filesystem::path folder = start.folder.path;

  JobWorld world{loop, *provider, disk, options.display, options.host_cores, {}, {}};
  world.open_cluster = [&](const JobStart& job, const std::string& config_json,
                           ClusterListener& listener) -> std::unique_ptr<Cluster> {
    ProcessCluster::Settings settings;
    settings.program_folder = options.program_folder;
    settings.log_folder = job.folder.logs();
    settings.config = job.config;
    settings.config_json = config_json;
    settings.address = provider->controller_address();
    if (settings.address.empty()) settings.address = job.config.cluster.listen_address;
    settings.state_payload_limit_bytes = static_cast<std::uint32_t>(job.config.ps.chunk_bytes);
    if (uses_shared_memory(job.config)) shared_file = make_shared_file();
    settings.shared_file = shared_file.get();
    return std::make_unique<ProcessCluster>(io, clock, listener, JobCredentials::generate(),
                                            std::move(settings));
  };
  world.hear_commands = [&](JobWorld::Obey obey) -> std::shared_ptr<void> {
    return std::make_shared<ControlSocket>(io, folder, std::move(obey));
  };

  Coordinator coordinator(std::move(start), std::move(data), std::move(world));
  options.prepare();
  coordinator.begin();
  asio::signal_set signals(io);
  add_end_signals(signals);
  watch_signals(signals, coordinator, loop);
  return coordinator.run();
}

}  // namespace scavenger::elastic
