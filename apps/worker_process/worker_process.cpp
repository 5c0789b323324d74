#include "apps/worker_process/worker_process.h"

#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_future.hpp>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/worker_process/all_reduce.h"
#include "ps/collective/stepped_replica.h"
#include "ps/core/optimizer.h"
#include "ps/host/device_host_synchroniser.h"
#include "ps/host/host_synchroniser.h"
#include "ps/shm/shm_synchroniser.h"
#include "ps/star/star_collective.h"
#include "ps/star/star_hub.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/config/config_file.h"
#include "runtime/config/placement.h"
#include "runtime/process/child_process.h"
#include "runtime/worker/worker.h"

namespace scavenger {
namespace {

// Sentences for the user. The controller takes messages only of a worker that has joined.
class Notices final {
 public:
  explicit Notices(ControlLink& link) : link_(link) {}
  void tell(std::string sentence) {
    log_warning("{}", sentence);
    const std::lock_guard lock(mutex_);
    if (has_joined_)
      link_.post(Notice{std::move(sentence)});
    else
      kept_.push_back(std::move(sentence));
  }
  void join() {
    const std::lock_guard lock(mutex_);
    has_joined_ = true;
    for (std::string& sentence : kept_) link_.post(Notice{std::move(sentence)});
    kept_.clear();
  }

 private:
  ControlLink& link_;
  std::mutex mutex_;
  bool has_joined_ = false;
  std::vector<std::string> kept_;
};

// The data and the model of this worker, before it knows its place in the job.
struct WorkerSetup {
  JobConfig config;
  DataSet train;
  DataSet test;
  Computation computation;
  ps::StarHub* hub = nullptr;  // only if the workers step an optimizer of their own

  Trainer& trainer() const { return *computation.trainer; }
};

WorkerSetup set_up(const LaunchTicket& ticket, const MakeComputation& make, ControlLink& link,
                   Notices& notices) {
  JobConfig config = parse_resolved_config(ticket.config, "launch ticket");
  const std::filesystem::path cache = default_cache_folder();
  DataSet train = DataSet::open(config.data, Split::kTrain, cache);
  DataSet test = DataSet::open(config.data, Split::kTest, cache);
  const auto log = [&link](ScriptValues values) { link.post(std::move(values)); };
  const auto tell = [&notices](std::string sentence) { notices.tell(std::move(sentence)); };
  Computation computation = make({ticket, config, train, log, tell});
  return {std::move(config), std::move(train), std::move(test), std::move(computation)};
}

// The hub is made on its thread, which serves at once.
void open_hub(WorkerSetup& setup, const LaunchTicket& ticket, IoThread& io,
              std::unique_ptr<ps::StarHub>& hub) {
  if (setup.config.sync.strategy != SyncStrategy::kAllReduce) return;
  asio::post(io.context(), asio::use_future([&] {
               hub = std::make_unique<ps::StarHub>(io.context(), Endpoint{ticket.listen_host, 0},
                                                   ticket.credentials);
             }))
      .get();
  setup.hub = hub.get();
  setup.computation.meeting_port = hub->port();
}

std::unique_ptr<Synchroniser> make_own_all_reduce(const WorkerSetup& setup,
                                                  const AllReduceParts& parts) {
  if (!setup.computation.step)
    throw ConfigError({.what = "this worker has no optimizer of its own",
                       .where = "sync.strategy",
                       .remedy = "use parameter_server"});
  auto replica = std::make_unique<ps::SteppedReplica>(whole_layout(parts), parts.config.optimizer,
                                                      setup.computation.step);
  auto collective = std::make_unique<ps::StarCollective>(parts.io.context(), *setup.hub,
                                                         parts.ticket.credentials);
  return make_collective_synchroniser(parts, std::move(replica), std::move(collective));
}

std::unique_ptr<Synchroniser> make_device_host(const WorkerSetup& setup,
                                               const AllReduceParts& parts,
                                               const SyncGroup& group) {
  if (!setup.computation.make_host_sum)
    throw ConfigError({.what = "this worker cannot add up with others of its host",
                       .where = "sync.hierarchy",
                       .remedy = "use on or off"});
  HostSum sum = setup.computation.make_host_sum(parts);
  const ps::ChunkLayout layout(parts.trainer.parameters().flat_size(), parts.config.ps.chunk_bytes,
                               static_cast<std::uint32_t>(group.shards.size()));
  auto connection = std::make_unique<ps::TcpSynchroniser>(
      parts.io.context(), parts.clock, layout, parts.ticket.credentials,
      ps::WireFormat(parts.config.sync.wire_precision));
  return std::make_unique<ps::DeviceHostSynchroniser>(
      ps::DeviceHostSynchroniser::Parts{std::move(sum.vectors), std::move(sum.collective),
                                        std::move(connection)},
      layout, parts.clock);
}

void say_joined(const WorkerSetup& setup, const LaunchTicket& ticket, ControlLink& link) {
  Joined joined;
  joined.port = setup.computation.meeting_port;
  joined.role = Role::kWorker;
  joined.index = ticket.index;
  joined.pid = ::getpid();
  joined.version_line = version_line("scavenger");
  joined.parameters = setup.trainer().parameters();
  joined.buffers = setup.trainer().buffers();
  link.post(std::move(joined));
}

std::unique_ptr<Synchroniser> make_synchroniser(const WorkerSetup& setup,
                                                const LaunchTicket& ticket, const SyncGroup& group,
                                                IoThread& io, ControlLink& link,
                                                const Clock& clock) {
  const AllReduceParts parts{setup.config, ticket, setup.trainer(), setup.train.size(), io,
                             link,         clock};
  if (setup.hub != nullptr) return make_own_all_reduce(setup, parts);
  if (setup.config.sync.strategy != SyncStrategy::kParameterServer)
    return setup.computation.make_all_reduce(parts);
  if (adds_up_by_collective(setup.config)) return make_device_host(setup, parts, group);
  const std::uint64_t flat_size = setup.trainer().parameters().flat_size();
  const std::uint64_t chunk_bytes = setup.config.ps.chunk_bytes;
  if (!ticket.has_shared_file) {
    const auto shards = static_cast<std::uint32_t>(group.shards.size());
    return std::make_unique<ps::HostSynchroniser>(
        io.context(), clock, ps::ChunkLayout(flat_size, chunk_bytes, shards), ticket.credentials,
        ps::WireFormat(setup.config.sync.wire_precision));
  }
  const OptimizerConfig& optimizer = setup.config.optimizer;
  const auto vectors = static_cast<std::uint32_t>(ps::Optimizer(optimizer).state_names().size());
  return std::make_unique<ps::ShmSynchroniser>(
      ps::Segment::attach(kInheritedFile, {flat_size, chunk_bytes, vectors}), clock,
      ps::ShmSynchroniser::Options{optimizer, setup.train.size(),
                                   std::thread::hardware_concurrency(),
                                   setup.computation.in_parallel});
}

// Whoever takes a machine away says so with SIGTERM, if at all. The controller lets us go at a
// boundary.
void announce_departure(asio::signal_set& notice, ControlLink& link) {
  notice.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    link.post(Leaving{"its worker got SIGTERM"});
    announce_departure(notice, link);
  });
}

void join_and_work(const LaunchTicket& ticket, const MakeComputation& make, IoThread& io,
                   std::unique_ptr<ps::StarHub>& hub, const Clock& clock, ControlLink& link) {
  Notices notices(link);
  WorkerSetup setup = set_up(ticket, make, link, notices);
  open_hub(setup, ticket, io, hub);
  Trainer& trainer = setup.trainer();
  log_info("{} parameters, {} threads, on the {}", trainer.parameters().element_count(),
           ticket.threads, setup.computation.place);
  Worker worker({setup.config, setup.train, setup.test, trainer, link.commands(), clock},
                {.make_synchroniser =
                     [&](const SyncGroup& group) {
                       return make_synchroniser(setup, ticket, group, io, link, clock);
                     },
                 .use_threads = setup.computation.use_threads,
                 .post = [&link](ControlMessage message) { link.post(std::move(message)); },
                 .begins_iteration =
                     [&](const WorkerIteration& begun) {
                       link.note_iteration(begun.iteration);
                       if (setup.computation.begins_iteration)
                         setup.computation.begins_iteration(begun);
                     },
                 .expect = setup.computation.expect,
                 .batches_ahead = setup.computation.batches_ahead,
                 .prepares_images = setup.computation.prepares_images});
  say_joined(setup, ticket, link);
  notices.join();
  asio::signal_set notice(io.context(), SIGTERM);
  announce_departure(notice, link);
  const std::optional<WorkerIteration> next = worker.run();
  if (setup.computation.at_end) setup.computation.at_end(next);
}

}  // namespace

int run_worker_process(const LaunchTicket& ticket, const MakeComputation& make,
                       const std::function<std::string()>& take_traceback) {
  std::signal(SIGPIPE, SIG_IGN);  // Gloo writes to connections whose other end is gone
  IoThread io;
  std::unique_ptr<ps::StarHub> hub;
  const IoThread::StopAtEnd stop(io);  // before the hub goes
  const SteadyClock clock;
  ControlLink link(io, ticket, clock);
  try {
    join_and_work(ticket, make, io, hub, clock, link);
    log_info("ended by the controller");
    return 0;
  } catch (const Error& error) {
    log_error("{}", error.what());
    const bool by_peer = dynamic_cast<const ConnectionError*>(&error) != nullptr;
    const bool bad_input = dynamic_cast<const InputError*>(&error) != nullptr;
    link.post_last(Failed{Role::kWorker, ticket.index, error.what(), by_peer, bad_input,
                          take_traceback ? take_traceback() : std::string()});
    return bad_input ? 2 : 1;
  }
}

}  // namespace scavenger
