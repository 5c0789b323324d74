#include "elastic/coordinator/work/model_state.h"

#include <algorithm>
#include <utility>

#include "elastic/coordinator/checkpoints/optimizer_state.h"
#include "ps/core/optimizer.h"
#include "ps/host/host_synchroniser.h"
#include "runtime/base/error.h"
#include "runtime/checkpoint/layout_difference.h"
#include "runtime/config/placement.h"

namespace scavenger::elastic {

// ---- The model. ----

bool ModelState::join(const ProcessName& process, const Joined& message) {
  if (process.role == Role::kShard) {
    shard_ports_[process.index] = message.port;
    return false;
  }
  worker_ports_[process.index] = message.port;
  if (parameters_.flat_size() == 0) {
    parameters_ = message.parameters;
    buffers_ = message.buffers;
    return true;
  }
  if (message.parameters != parameters_ || message.buffers != buffers_)
    throw ProtocolError({.what = process.text() + " has built another model than the others",
                         .where = {},
                         .remedy = {}});
  return false;
}

ps::ChunkLayout ModelState::layout() const {
  return {parameters_.flat_size(), config_.ps.chunk_bytes, std::max(1U, shards())};
}

void ModelState::require_buffers(const ProcessName& process, std::span<const float> values) const {
  if (values.size() == buffers_.flat_size()) return;
  throw ProtocolError(
      {.what = process.text() + " sent buffers of another model", .where = {}, .remedy = {}});
}

// ---- What it starts from. ----

void ModelState::start_from(LoadedCheckpoint loaded) {
  checkpoint_ = std::make_shared<const Checkpoint>(std::move(loaded.content));
  checkpoint_folder_ = std::move(loaded.folder);
}

std::optional<std::string> ModelState::problem() const {
  try {
    if (checkpoint_) {
      require_same_model(parameters_, buffers_, *checkpoint_, checkpoint_folder_);
      require_optimizer_state(config_.optimizer, *checkpoint_, checkpoint_folder_);
    }
    layout();
    return std::nullopt;
  } catch (const CheckpointError& error) {
    return error.what();
  } catch (const ConfigError& error) {
    return error.what();
  }
}

void ModelState::take_buffers(std::uint64_t iteration, std::span<const float> values) {
  if (values.size() == buffers_.flat_size()) known_buffers_.take(iteration, values);
}

void ModelState::offer_buffers(std::uint32_t worker, std::uint64_t iteration,
                               std::span<const float> values) {
  known_buffers_.offer(worker, iteration, values);
}

// ---- Messages. ----

// By rank; none if each brings its own gradient.
std::vector<std::uint32_t> ModelState::hosts_of(const std::vector<std::uint32_t>& ranks) const {
  std::vector<std::uint32_t> hosts;
  if (config_.sync.hierarchy == SyncHierarchy::kOff) return hosts;
  if (config_.provider.is_remote()) return ranks;  // each has a host of its own
  if (config_.sync.hierarchy != SyncHierarchy::kAutomatic && config_.cluster.hosts.empty())
    return std::vector<std::uint32_t>(ranks.size(), 0);  // all are on this machine
  for (const std::uint32_t worker : ranks)
    if (const auto host = host_index_of_worker(config_.cluster, worker)) hosts.push_back(*host);
  return hosts;
}

ConfigureShard ModelState::shard_message(const ConfigureShards& action,
                                         const Membership& membership,
                                         const std::vector<std::uint32_t>& ranks,
                                         std::uint32_t shard) const {
  ConfigureShard message;
  message.index = shard;
  message.shards = shards();
  message.flat_size = parameters_.flat_size();
  message.samples_per_epoch = samples_per_epoch_;
  message.membership = ps::contributors_of(membership, hosts_of(ranks));
  message.goes_on = action.source == StateSource::kPresent;
  message.has_state = action.source == StateSource::kCheckpoint;
  if (message.has_state) message.optimizer_steps = checkpoint_->optimizer.step_count;
  return message;
}

void ModelState::begin(const ConfigureWorkers& action) {
  if (action.source == StateSource::kInitial) {
    steps_ahead_ = 0;
    known_buffers_ = {};
  }
  if (checkpoint_) known_buffers_.take(checkpoint_->iteration, checkpoint_->buffer_values);
  if (action.source == StateSource::kCheckpoint)
    steps_ahead_ = checkpoint_->optimizer.step_count - checkpoint_->iteration;
}

// They meet at the source, which is sure to be there, and it gets the state of a checkpoint.
void ModelState::let_workers_keep_state(const ConfigureWorkers& action,
                                        const MembershipPlaces& places,
                                        ConfigureWorker& message) const {
  SyncGroup& group = message.group;
  const WorkerPlace& source = places.workers[action.source_rank];
  group.shards = {{source.address, worker_ports_.at(source.index)}};
  group.source_rank = action.source_rank;
  group.shares_state = action.shares_state && group.membership.workers() > 1;
  group.optimizer_steps = group.membership.first_iteration + steps_ahead_;
  if (action.source == StateSource::kCheckpoint && group.rank == group.source_rank)
    message.state_pieces = static_cast<std::uint32_t>(
        layout().chunk_count() * (1 + ps::state_names_of(config_.optimizer).size()));
}

ConfigureWorker ModelState::worker_message(const ConfigureWorkers& action,
                                           const MembershipPlaces& places,
                                           std::uint32_t rank) const {
  const WorkerPlace& worker = places.workers[rank];
  ConfigureWorker message;
  SyncGroup& group = message.group;
  group.rank = rank;
  group.membership = places.membership;
  for (const WorkerPlace& each : places.workers) group.slots.push_back(each.index);
  group.hosts = hosts_of(group.slots);
  if (!group.hosts.empty()) {
    const auto first = std::ranges::find(group.hosts, group.hosts[rank]) - group.hosts.begin();
    const WorkerPlace& uplink = places.workers[static_cast<std::size_t>(first)];
    group.uplink_pid = uplink.pid;
    if (adds_up_by_collective(config_))
      group.host_meeting = {uplink.address, worker_ports_.at(uplink.index)};
  }
  for (std::uint32_t shard = 0; shard < shards(); ++shard)
    group.shards.push_back({places.shard_addresses[shard], shard_ports_[shard],
                            is_near(config_, worker.index, shard)});
  group.writes_initial_weights = action.source == StateSource::kInitial && rank == 0;
  group.threads = worker.threads;
  if (shards() == 0) let_workers_keep_state(action, places, message);
  const bool is_new = std::ranges::find(action.newcomers, worker.index) != action.newcomers.end();
  if (checkpoint_ || (is_new && action.source == StateSource::kPresent))
    message.buffers = known_buffers_.values();
  message.has_buffers = !message.buffers.empty();
  return message;
}

}  // namespace scavenger::elastic
