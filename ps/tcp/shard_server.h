// Serves one shard of the parameter server to the workers, over TCP.
//
// A worker connects, names its rank in its first kPull frame, and gets the weights. It then sends a
// kGradient frame for each chunk of this shard and iteration, and gets a kWeights frame back when
// all workers have sent theirs. A worker on the same host exchanges only frame headers.
// docs/design/protocol.md describes the sequence of frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ps/core/shard_state.h"
#include "ps/shard/shard_service.h"
#include "ps/shard/state_frames.h"
#include "ps/tcp/near_vectors.h"
#include "ps/tcp/wire_format.h"
#include "runtime/config/job_config.h"
#include "runtime/net/job_listener.h"
#include "runtime/protocol/control_message.h"

namespace scavenger::ps {

// Thread: the one thread of the io_context. It has more than 25 methods: those of its port, and one
// for each kind of frame that comes or goes.
class ShardServer final : public ShardService {
 public:
  // Port 0 in `listen` means any free port. Throws SystemError if it cannot listen there.
  ShardServer(asio::io_context& io, const Endpoint& listen, const JobCredentials& credentials,
              const OptimizerConfig& optimizer, std::uint64_t chunk_bytes, WireFormat format = {});

  std::uint16_t port() const override { return listener_.port(); }

  // Returns whether a snapshot is in progress and not complete yet.
  bool is_copying() const { return shard_ && shard_->has_snapshot(); }

  // Disconnects the workers of the previous membership.
  void configure(const ConfigureShard& message) override;
  std::vector<std::byte>& state_payload() override { return state_payload_; }
  bool load_state(const FrameHeader& header) override;
  Halted halt() override;
  ShardProgress progress() const override { return shard_ ? shard_->progress() : ShardProgress{}; }
  void begin_snapshot(std::uint64_t iteration) override;
  awaitable<void> send_snapshot(std::shared_ptr<FrameConnection> destination) override;

 private:
  // A worker's connection; rank_ is known after its first kPull.
  struct Client {
    std::shared_ptr<FrameConnection> connection;
    std::optional<std::uint32_t> rank;
    std::vector<Bfloat16> rounded;      // a gradient as received, if it is rounded
    std::shared_ptr<NearVectors> near;  // the worker's vectors, if it is on this host
  };

  awaitable<void> serve(std::shared_ptr<FrameConnection> connection);
  awaitable<void> serve_frames(Client& client);
  awaitable<void> take_initial(Client& client, FrameHeader header);
  awaitable<void> take_gradient(Client& client, FrameHeader header);
  awaitable<void> take_pull(Client& client, FrameHeader header);
  void begin_membership();
  void close_clients();
  void begin_training(Client& client);
  void send_weights(Client& client, const FrameHeader& header,
                    std::span<const std::byte> wire_weights);
  std::uint64_t gradient_size(const Client& client, const FrameHeader& header) const;
  awaitable<void> receive_gradient(Client& client, std::span<float> gradient);
  std::span<const std::byte> wire_weights(std::uint32_t chunk);
  void publish(std::uint32_t chunk, std::uint64_t iteration);
  void clip_or_ask(std::uint64_t iteration);
  void take_clip(const Client& client, const FrameHeader& header);
  void step_clipped(std::uint64_t iteration, double sqr_norm);

  asio::io_context& io_;
  JobListener listener_;
  OptimizerConfig optimizer_;
  std::uint64_t chunk_bytes_;
  const WireFormat format_;

  scavenger::Membership membership_;
  std::uint64_t samples_per_epoch_ = 1;
  std::vector<FloatBuffer> gradients_;  // by rank
  std::optional<ParameterShard> shard_;
  std::vector<Bfloat16> rounded_weights_;  // packed, as sent; used if weights are rounded
  bool started_ = false;                   // the shard has weights and a membership
  bool halted_ = false;
  bool has_state_ = false;  // weights and state come from the controller, not from a worker
  LoadedPieces pieces_;     // of initial weights or of state
  std::vector<std::byte> state_payload_;
  std::vector<double> sent_norms_;        // must not change until they are answered
  std::vector<Client*> clients_;          // by rank; null if not connected
  std::vector<std::uint8_t> has_pulled_;  // by rank, in this membership
  // By rank. The shard may read them until the next membership, even if their worker is gone.
  std::vector<std::shared_ptr<NearVectors>> near_;
};

}  // namespace scavenger::ps
