// scavenger-worker: computes gradients on its share of each batch. Started by scavenger-train.
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "apps/command_line/job_process.h"
#include "ps/collective/collective_synchroniser.h"
#include "ps/collective/host_replica.h"
#include "ps/host/host_synchroniser.h"
#include "ps/shm/shm_synchroniser.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/config/config_file.h"
#include "runtime/data/data_set.h"
#include "runtime/net/spawn.h"
#include "runtime/process/child_process.h"
#include "runtime/torch/c10d/c10d.h"
#include "runtime/torch/trainer/tensor_replica.h"
#include "runtime/torch/trainer/torch_trainer.h"
#include "runtime/worker/control_link.h"
#include "runtime/worker/worker.h"

namespace scavenger {
namespace {

// The data and the model of this worker, before it knows its place in the job.
struct Workshop {
  JobConfig config;
  DataSet train;
  DataSet test;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<MeetingPlace> meeting_place;  // for all-reduce
  DevicePlace place;
};

Workshop set_up(const LaunchTicket& ticket) {
  JobConfig config = parse_resolved_config(ticket.config, "launch ticket");
  const std::filesystem::path cache = default_cache_folder();
  DataSet train = DataSet::open(config.data, Split::kTrain, cache);
  DataSet test = DataSet::open(config.data, Split::kTest, cache);
  TorchTrainerOptions options;
  options.model = config.model;
  options.loss = config.loss;
  options.compute = config.compute;
  options.data = train.shape();
  if (options.data.target == TargetKind::kSequence)
    options.beam_width = config.evaluation.beam_width;
  options.seed = config.seed;
  options.threads = ticket.threads;
  const bool stays_on_gpu = config.sync.strategy == SyncStrategy::kNccl;
  options.place = choose_device(stays_on_gpu ? Device::kCuda : config.device, ticket.index);
  options.vectors = stays_on_gpu ? VectorHome::kDevice : VectorHome::kHost;
  auto trainer = make_torch_trainer(options);
  std::unique_ptr<MeetingPlace> meeting_place;
  if (config.sync.strategy != SyncStrategy::kParameterServer)
    meeting_place = open_meeting_place(ticket.listen_host);
  return {std::move(config),  std::move(train),         std::move(test),
          std::move(trainer), std::move(meeting_place), options.place};
}

void say_joined(const Workshop& shop, const LaunchTicket& ticket, ControlLink& link) {
  Joined joined;
  if (shop.meeting_place) joined.port = shop.meeting_place->port();
  joined.role = Role::kWorker;
  joined.index = ticket.index;
  joined.pid = ::getpid();
  joined.version_line = version_line("scavenger");
  joined.parameters = shop.trainer->parameters();
  joined.buffers = shop.trainer->buffers();
  link.post(std::move(joined));
}

awaitable<void> send_snapshot(std::shared_ptr<FrameConnection> controller, ps::ChunkLayout layout,
                              std::uint32_t membership_epoch,
                              std::shared_ptr<const ps::ShardSnapshot> snapshot) {
  try {
    co_await ps::send_state(controller, layout, 0, membership_epoch, *snapshot);
    co_await controller->wait_until_queued_at_most(0);
  } catch (const ConnectionError&) {
    // Who reads from the controller will find out.
  }
}

// Nobody else can know where in the store the workers meet.
std::string secret_key_prefix(const JobCredentials& credentials) {
  const Digest digest =
      hmac_sha256(credentials.secret, std::as_bytes(std::span("all-reduce meeting place")));
  return sha256_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::unique_ptr<Synchroniser> make_all_reduce(const Workshop& shop, const LaunchTicket& ticket,
                                              IoThread& io, ControlLink& link, const Clock& clock) {
  const JobConfig& config = shop.config;
  const ps::ChunkLayout layout(shop.trainer->parameters().flat_size(), config.ps.chunk_bytes, 1);
  C10dOptions options;
  options.backend = config.sync.strategy;
  options.address = ticket.listen_host;
  options.key_prefix = secret_key_prefix(ticket.credentials);
  options.operation_seconds = config.limits.iteration_seconds;
  options.gpu = shop.place.gpu;
  std::unique_ptr<Replica> replica;
  if (config.sync.strategy == SyncStrategy::kNccl)
    replica = make_tensor_replica(layout.flat_size(), config.optimizer, shop.place);
  else
    replica = std::make_unique<ps::HostReplica>(layout, config.optimizer);
  return std::make_unique<ps::CollectiveSynchroniser>(
      ps::CollectiveSynchroniser::Parts{
          std::move(replica), make_c10d_collective(options),
          [&io, controller = link.connection(), layout](
              std::uint32_t epoch, std::shared_ptr<const ps::ShardSnapshot> snapshot) {
            spawn(io.context(), unless_disconnected(
                                    send_snapshot(controller, layout, epoch, std::move(snapshot))));
          }},
      layout, clock, ps::CollectiveSynchroniser::Options{config.optimizer, shop.train.size(), {}});
}

std::unique_ptr<Synchroniser> make_synchroniser(const Workshop& shop, const LaunchTicket& ticket,
                                                const SyncGroup& group, IoThread& io,
                                                ControlLink& link, const Clock& clock) {
  if (shop.config.sync.strategy != SyncStrategy::kParameterServer)
    return make_all_reduce(shop, ticket, io, link, clock);
  const std::uint64_t flat_size = shop.trainer->parameters().flat_size();
  const std::uint64_t chunk_bytes = shop.config.ps.chunk_bytes;
  if (!ticket.has_shared_file) {
    const auto shards = static_cast<std::uint32_t>(group.shards.size());
    return std::make_unique<ps::HostSynchroniser>(
        io.context(), clock, ps::ChunkLayout(flat_size, chunk_bytes, shards), ticket.credentials,
        ps::WireFormat(shop.config.sync.wire_precision));
  }
  const OptimizerConfig& optimizer = shop.config.optimizer;
  const auto vectors = static_cast<std::uint32_t>(ps::Optimizer(optimizer).state_names().size());
  return std::make_unique<ps::ShmSynchroniser>(
      ps::Segment::attach(kInheritedFile, {flat_size, chunk_bytes, vectors}), clock,
      ps::ShmSynchroniser::Options{optimizer, shop.train.size(),
                                   std::thread::hardware_concurrency()});
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

void join_and_work(const LaunchTicket& ticket, IoThread& io, const Clock& clock,
                   ControlLink& link) {
  const Workshop shop = set_up(ticket);
  Trainer& trainer = *shop.trainer;
  log_info("{} parameters, {} threads, on the {}", trainer.parameters().element_count(),
           ticket.threads, shop.place.text());
  Worker worker(
      {shop.config, shop.train, shop.test, trainer, link.commands(), clock},
      {.make_synchroniser =
           [&](const SyncGroup& group) {
             return make_synchroniser(shop, ticket, group, io, link, clock);
           },
       .use_threads = use_torch_threads,
       .post = [&link](ControlMessage message) { link.post(std::move(message)); },
       .begins_iteration = [&link](std::uint64_t iteration) { link.note_iteration(iteration); }});
  say_joined(shop, ticket, link);
  asio::signal_set notice(io.context(), SIGTERM);
  announce_departure(notice, link);
  worker.run();
}

int run_worker(const LaunchTicket& ticket) {
  std::signal(SIGPIPE, SIG_IGN);  // Gloo writes to connections whose other end is gone
  IoThread io;
  const SteadyClock clock;
  ControlLink link(io, ticket, clock);
  try {
    join_and_work(ticket, io, clock, link);
    log_info("ended by the controller");
    return 0;
  } catch (const Error& error) {
    log_error("{}", error.what());
    const bool by_peer = dynamic_cast<const ConnectionError*>(&error) != nullptr;
    const bool bad_input = dynamic_cast<const InputError*>(&error) != nullptr;
    link.post_last(Failed{Role::kWorker, ticket.index, error.what(), by_peer, bad_input});
    return bad_input ? 2 : 1;
  }
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  return scavenger::run_job_process("scavenger-worker", argc, argv, scavenger::run_worker);
}
