// Serves one shard of the parameter server to the workers, over TCP.
//
// A worker connects, says with its first kPull which rank it is, and gets the weights; from then on
// it sends a kGradient frame for each chunk of this shard and iteration, and gets a kWeights frame
// back when all workers have sent theirs. docs/protocol.md shows the conversation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ps/core/shard_state.h"
#include "runtime/config/job_config.h"
#include "runtime/net/job_listener.h"
#include "runtime/protocol/control_message.h"

namespace scavenger::ps {

// Thread: the io_context's, which is one.
class ShardServer final {
 public:
  // `listen` may name port 0: any free port. Throws SystemError where it cannot be had.
  ShardServer(asio::io_context& io, const Endpoint& listen, const JobCredentials& credentials,
              const OptimizerConfig& optimizer, std::uint64_t chunk_bytes);

  std::uint16_t port() const { return listener_.port(); }

  // Makes the shard, or, the second time, gives it a new membership: it goes on with what it has
  // from the membership's first iteration, or, where `message.has_state`, from what load_state()
  // brings, all of it before workers are served. Workers of the membership before are disconnected.
  // Throws ProtocolError, ConfigError.
  void configure(const ConfigureShard& message);

  // Where the payload of a kState frame goes, and that it is there. `loaded_all()`: nothing is
  // missing.
  std::vector<std::byte>& state_payload() { return state_payload_; }
  void load_state(const FrameHeader& header);
  bool loaded_all() const { return pieces_to_load_ == 0; }

  // Begins a snapshot of the boundary after `iteration` iterations; throws ProtocolError where the
  // shard is elsewhere.
  void begin_snapshot(std::uint64_t iteration);
  // Copies what is left, giving way to training between chunks, and posts the kState frames on
  // `destination`.
  awaitable<void> send_snapshot(std::shared_ptr<FrameConnection> destination);

  ShardProgress progress() const { return shard_->progress(); }

 private:
  // A worker's connection; rank_ is known after its first kPull.
  struct Client {
    std::shared_ptr<FrameConnection> connection;
    std::optional<std::uint32_t> rank;
  };

  awaitable<void> serve(std::shared_ptr<FrameConnection> connection);
  awaitable<void> serve_frames(Client& client);
  awaitable<void> take_initial(Client& client, FrameHeader header);
  awaitable<void> take_gradient(Client& client, FrameHeader header);
  void take_pull(Client& client, const FrameHeader& header);
  void note_loaded(std::size_t vector, std::uint32_t chunk);
  void begin_membership();
  void close_clients();
  void send_all_weights(Client& client);
  void publish(std::uint32_t chunk, std::uint64_t iteration);
  double learning_rate_at(std::uint64_t iteration) const;

  asio::io_context& io_;
  JobListener listener_;
  OptimizerConfig optimizer_;
  std::uint64_t chunk_bytes_;

  scavenger::Membership membership_;
  std::uint64_t samples_per_epoch_ = 1;
  std::vector<FloatBuffer> gradients_;  // by rank
  std::optional<ParameterShard> shard_;
  bool started_ = false;
  bool has_state_ = false;            // the controller brings weights and state, not a worker
  std::size_t pieces_to_load_ = 0;    // chunks of initial weights or of state
  std::vector<std::uint8_t> loaded_;  // by vector and chunk
  std::vector<std::byte> state_payload_;
  std::vector<Client*> clients_;                // by rank; null where not there
  std::optional<ShardSnapshot> sent_snapshot_;  // its memory is being written to the controller
};

}  // namespace scavenger::ps
