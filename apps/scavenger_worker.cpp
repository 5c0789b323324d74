// scavenger-worker: computes gradients on its share of each batch. Started by scavenger-train.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "apps/job_process.h"
#include "ps/shm/shm_synchroniser.h"
#include "ps/tcp/tcp_synchroniser.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/config/config_file.h"
#include "runtime/data/data_set.h"
#include "runtime/process/child_process.h"
#include "runtime/torch/torch_trainer.h"
#include "runtime/worker/control_link.h"
#include "runtime/worker/worker_loop.h"

namespace scavenger {
namespace {

// The data and the model of this worker, before it knows its place in the job.
struct Workshop {
  JobConfig config;
  DataSet train;
  DataSet test;
  std::unique_ptr<Trainer> trainer;
};

Workshop set_up(const LaunchTicket& ticket) {
  JobConfig config = parse_resolved_config(ticket.config, "launch ticket");
  const std::filesystem::path cache = default_cache_folder();
  DataSet train = DataSet::open(config.data, Split::kTrain, cache);
  DataSet test = DataSet::open(config.data, Split::kTest, cache);
  TorchTrainerOptions options;
  options.model = config.model;
  options.sample_shape = train.sample_shape();
  options.classes = config.data.classes;
  options.seed = config.seed;
  options.threads = ticket.threads;
  auto trainer = make_torch_trainer(options);
  return {std::move(config), std::move(train), std::move(test), std::move(trainer)};
}

void say_joined(const Workshop& shop, const LaunchTicket& ticket, ControlLink& link) {
  Joined joined;
  joined.role = Role::kWorker;
  joined.index = ticket.index;
  joined.pid = ::getpid();
  joined.version_line = version_line("scavenger");
  joined.parameters = shop.trainer->parameters();
  joined.buffers = shop.trainer->buffers();
  link.post(std::move(joined));
}

ConfigureWorker wait_for_configuration(ControlLink& link, bool& stopped) {
  ControlMessage message = link.commands().wait();
  if (auto* configuration = std::get_if<ConfigureWorker>(&message))
    return std::move(*configuration);
  if (!std::holds_alternative<Stop>(message))
    throw ProtocolError(
        {.what = "the controller did not configure this worker first", .where = {}, .remedy = {}});
  stopped = true;
  return {};
}

// Answers the controller's requests; trains whenever there are none, as far as the grant goes.
void work(Workshop& shop, Synchroniser& synchroniser, WorkerLoop& loop, ControlLink& link) {
  auto evaluate_train = BatchAssembler::for_evaluation(shop.train, shop.config.data);
  auto evaluate_test = BatchAssembler::for_evaluation(shop.test, shop.config.data);
  for (;;) {
    const auto message = link.commands().next(loop.iteration());
    if (!message) {
      link.note_iteration(loop.iteration());
      if (!loop.run_iteration())
        throw ConnectionError({.what = synchroniser.problem(), .where = {}, .remedy = {}});
      if (!link.commands().granted(loop.iteration()))
        loop.flush();  // the controller waits for these
    } else if (const auto* request = std::get_if<Evaluate>(&*message)) {
      shop.trainer->use_weights(synchroniser.weights());
      link.post(evaluate_range(
          *shop.trainer, request->split == "train" ? evaluate_train : evaluate_test, *request));
    } else if (std::holds_alternative<SendBuffers>(*message)) {
      Buffers buffers;
      buffers.values.resize(shop.trainer->buffers().flat_size());
      shop.trainer->read_buffers(buffers.values);
      link.post(std::move(buffers));
    } else if (std::holds_alternative<Stop>(*message)) {
      return;
    } else {
      throw ProtocolError({.what = "the controller sent a message that is not for workers",
                           .where = {},
                           .remedy = {}});
    }
  }
}

std::unique_ptr<Synchroniser> make_synchroniser(const Workshop& shop, const LaunchTicket& ticket,
                                                const SyncGroup& group, IoThread& io,
                                                const Clock& clock) {
  const std::uint64_t flat_size = shop.trainer->parameters().flat_size();
  const std::uint64_t chunk_bytes = shop.config.ps.chunk_bytes;
  if (!ticket.has_shared_file) {
    const auto shards = static_cast<std::uint32_t>(group.shards.size());
    return std::make_unique<ps::TcpSynchroniser>(
        io.context(), clock, ps::ChunkLayout(flat_size, chunk_bytes, shards), ticket.credentials);
  }
  const OptimizerConfig& optimizer = shop.config.optimizer;
  const auto vectors = static_cast<std::uint32_t>(ps::Optimizer(optimizer).state_names().size());
  const std::uint32_t threads = group.membership.workers() * ticket.threads;
  return std::make_unique<ps::ShmSynchroniser>(
      ps::Segment::attach(kInheritedFile, {flat_size, chunk_bytes, vectors}), clock,
      ps::ShmSynchroniser::Options{optimizer, shop.train.size(),
                                   threads > std::thread::hardware_concurrency()});
}

void join_and_work(const LaunchTicket& ticket, IoThread& io, const Clock& clock,
                   ControlLink& link) {
  Workshop shop = set_up(ticket);
  say_joined(shop, ticket, link);
  bool stopped = false;
  const ConfigureWorker configuration = wait_for_configuration(link, stopped);
  if (stopped) return;
  const SyncGroup& group = configuration.group;
  const Membership& membership = group.membership;

  const auto owned_synchroniser = make_synchroniser(shop, ticket, group, io, clock);
  Synchroniser& synchroniser = *owned_synchroniser;
  const auto initial_weights = [&shop](std::span<float> weights) {
    shop.trainer->use_weights(weights);
    shop.trainer->write_initial_weights();
  };
  if (configuration.has_buffers) shop.trainer->write_buffers(configuration.buffers);
  if (!synchroniser.join(group, initial_weights))
    throw ConnectionError({.what = synchroniser.problem(), .where = {}, .remedy = {}});
  shop.trainer->use_gradients(synchroniser.gradients());

  auto assembler = BatchAssembler::for_training(shop.train, shop.config.data, shop.config.seed);
  BatchLoader loader(
      [&assembler](std::uint64_t first_position, std::uint32_t size, Batch& batch) {
        assembler.assemble(first_position, size, batch);
      },
      clock);
  loader.start({membership.first_iteration, membership.first_position, membership.batch_size,
                membership.offset_of(group.rank), membership.shares[group.rank]});
  WorkerLoop loop({*shop.trainer, synchroniser, loader, clock}, shop.config, shop.train.size(),
                  membership, group.rank,
                  [&link](IterationStats stats) { link.post(std::move(stats)); });
  link.post(Ready{});
  log_info("rank {} of {}: {} parameters, {} samples of each batch of {}, {} threads", group.rank,
           membership.workers(), shop.trainer->parameters().element_count(),
           membership.shares[group.rank], membership.batch_size, ticket.threads);
  work(shop, synchroniser, loop, link);
}

int run_worker(const LaunchTicket& ticket) {
  IoThread io;
  const SteadyClock clock;
  ControlLink link(io, ticket, clock);
  try {
    join_and_work(ticket, io, clock, link);
    log_info("ended by the controller");
    return 0;
  } catch (const Error& error) {
    log_error("{}", error.what());
    link.post_last(Failed{error.what(), dynamic_cast<const ConnectionError*>(&error) != nullptr});
    return 1;
  }
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  return scavenger::run_job_process("scavenger-worker", argc, argv, scavenger::run_worker);
}
