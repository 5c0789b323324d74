// What a job knows of its model and of who holds it: the layouts that the processes have built, the
// checkpoint that a membership starts from, the buffers for newcomers. From these follow the
// messages that make a membership. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elastic/control/controller.h"
#include "elastic/coordinator/checkpoints/known_buffers.h"
#include "elastic/coordinator/staffing/staffing.h"
#include "ps/core/chunk_layout.h"
#include "runtime/checkpoint/checkpoint_store.h"
#include "runtime/config/job_config.h"
#include "runtime/protocol/control_message.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger::elastic {

// The processes of a membership.
struct MembershipPlaces {
  const Membership& membership;
  std::vector<WorkerPlace> workers;          // by rank
  std::vector<std::string> shard_addresses;  // by shard
};

class ModelState final {
 public:
  // `config` must outlive it.
  ModelState(const JobConfig& config, std::uint32_t shards, std::uint64_t samples_per_epoch)
      : config_(config), samples_per_epoch_(samples_per_epoch), shard_ports_(shards) {}

  // True if it is the first worker, which says what the model is. Throws ProtocolError if a worker
  // has built another model than the first.
  bool join(const ProcessName& process, const Joined& message);
  const TensorLayout& parameters() const { return parameters_; }
  const TensorLayout& buffers() const { return buffers_; }
  // Throws ConfigError if there are more shards than chunks.
  ps::ChunkLayout layout() const;
  // Throws ProtocolError unless they are as many as the model has.
  void require_buffers(const ProcessName& process, std::span<const float> values) const;

  // What the next membership starts from, until it trains.
  void start_from(LoadedCheckpoint loaded);
  const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }
  void forget_checkpoint() { checkpoint_.reset(); }
  // Why the checkpoint is of another model or optimizer, or why there are too many shards.
  std::optional<std::string> problem() const;

  // Buffers that are known of an iteration: of all workers, or of one that has halted.
  void take_buffers(std::uint64_t iteration, std::span<const float> values);
  void offer_buffers(std::uint32_t worker, std::uint64_t iteration, std::span<const float> values);

  // ---- Requires that there is no problem(). ----
  ConfigureShard shard_message(const ConfigureShards& action, const Membership& membership,
                               const std::vector<std::uint32_t>& ranks, std::uint32_t shard) const;
  // Call once for a membership, before the messages to its workers.
  void begin(const ConfigureWorkers& action);
  ConfigureWorker worker_message(const ConfigureWorkers& action, const MembershipPlaces& places,
                                 std::uint32_t rank) const;

 private:
  std::vector<std::uint32_t> hosts_of(const std::vector<std::uint32_t>& ranks) const;
  void let_workers_keep_state(const ConfigureWorkers& action, const MembershipPlaces& places,
                              ConfigureWorker& message) const;
  std::uint32_t shards() const { return static_cast<std::uint32_t>(shard_ports_.size()); }

  const JobConfig& config_;
  const std::uint64_t samples_per_epoch_;
  TensorLayout parameters_;
  TensorLayout buffers_;
  std::vector<std::uint16_t> shard_ports_;
  std::map<std::uint32_t, std::uint16_t> worker_ports_;  // by index
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::filesystem::path checkpoint_folder_;
  // How many optimizer steps the state is ahead of the iterations that were done.
  std::uint64_t steps_ahead_ = 0;
  KnownBuffers known_buffers_;
};

}  // namespace scavenger::elastic
