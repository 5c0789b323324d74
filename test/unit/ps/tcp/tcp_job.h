// Shards and workers of one job in one process, over the loopback interface, with a gradient that
// needs no model; and what they must compute.
#pragma once

#include <bit>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "ps/core/shard_state.h"
#include "ps/tcp/shard_server.h"
#include "ps/tcp/tcp_synchroniser.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/net/io_thread.h"

namespace scavenger::ps {

struct TcpJobOptions {
  std::vector<std::uint32_t> shares = {8};
  std::uint32_t shards = 1;
  std::uint64_t flat_size = 5003;
  std::uint64_t chunk_bytes = 4096;
  WirePrecision precision = WirePrecision::kFloat32;
  std::uint32_t near_shards = 0;  // so many of them read and write in the workers' memory
  OptimizerConfig optimizer = {.momentum = 0.9, .weight_decay = 1e-3, .schedule = {}};
};

inline scavenger::Membership membership_of(const TcpJobOptions& options) {
  scavenger::Membership membership{1, 0, options.shares, 0, 0};
  for (const std::uint32_t share : options.shares) membership.batch_size += share;
  return membership;
}

inline void write_initial_weights(std::span<float> weights) {
  RandomStream random(1, "initial weights");
  for (float& weight : weights) weight = static_cast<float>(random.normal());
}

// Clips every gradient of these jobs.
inline OptimizerConfig clipping_optimizer() {
  return {.momentum = 0.9, .weight_decay = 1e-3, .clip_norm = 2.0, .schedule = {}};
}

// Depends on the weights, so that a wrong bit spreads.
inline void write_gradient(std::span<const float> weights, std::uint64_t iteration,
                           std::uint32_t rank, std::span<float> gradient) {
  RandomStream random(2, "gradient", {iteration, rank});
  for (std::size_t i = 0; i < weights.size(); ++i)
    gradient[i] = 0.25F * weights[i] + static_cast<float>(random.uniform() - 0.5);
}

// As they come out of a frame.
inline void round_as_sent(const TcpJobOptions& options, std::span<float> floats) {
  if (options.precision == WirePrecision::kFloat32) return;
  std::vector<Bfloat16> rounded(floats.size());
  kernels(InstructionSet::kPortable).to_bfloat16(floats.data(), rounded.data(), floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i)
    floats[i] = std::bit_cast<float>(static_cast<std::uint32_t>(rounded[i]) << 16);
}

struct TrainedState {
  std::vector<float> weights;
  std::vector<float> momentum;
  std::vector<SyncResult> results;  // by rank, of the last iteration
  bool operator==(const TrainedState& other) const { return weights == other.weights; }
};

// The same training without threads, sockets, or more than one shard.
inline TrainedState reference(const TcpJobOptions& options, std::uint64_t iterations) {
  const ChunkLayout layout(options.flat_size, options.chunk_bytes, 1);
  ParameterShard shard(layout, 0, options.optimizer);
  shard.start({});
  TrainedState state;
  state.weights.resize(options.flat_size);
  write_initial_weights(state.weights);
  for (const std::uint32_t chunk : shard.chunks()) {
    const ChunkRange range = layout.range(chunk);
    shard.load_weights(chunk, std::span(state.weights).subspan(range.first, range.size));
  }
  round_as_sent(options, state.weights);
  std::vector<std::vector<float>> gradients(options.shares.size(),
                                            std::vector<float>(options.flat_size));
  Membership membership{1, options.shares, {}};
  for (auto& gradient : gradients) membership.gradients.push_back(gradient);
  shard.reconfigure(membership, 0);
  state.results.resize(options.shares.size());
  for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
    for (std::uint32_t rank = 0; rank < options.shares.size(); ++rank) {
      write_gradient(state.weights, iteration, rank, gradients[rank]);
      round_as_sent(options, gradients[rank]);
    }
    state.results.assign(options.shares.size(), {});
    Outcome outcome = Outcome::kWaiting;
    for (const std::uint32_t chunk : shard.chunks()) {
      for (std::uint32_t rank = 0; rank < options.shares.size(); ++rank)
        outcome = shard.contribute({1, iteration, chunk, rank}, options.optimizer.learning_rate);
    }
    if (outcome == Outcome::kAllSummed)
      shard.step_clipped(1, iteration, sum_in_chunk_order(shard.summed_sqr_norms()));
    for (const std::uint32_t chunk : shard.chunks()) {
      const ChunkNorms norms = shard.norms(chunk);
      for (std::size_t rank = 0; rank < options.shares.size(); ++rank) {
        state.results[rank].local_gradient_sqr_norm += norms.rank_sqr_norms[rank];
        state.results[rank].global_gradient_sqr_norm += norms.sqr_norm;
      }
      const auto weights = shard.weights(chunk);
      std::copy(weights.begin(), weights.end(),
                state.weights.begin() + static_cast<std::ptrdiff_t>(layout.range(chunk).first));
    }
    round_as_sent(options, state.weights);
  }
  for (const std::uint32_t chunk : shard.chunks())
    if (!shard.optimizer().state_names().empty()) {
      const auto momentum = shard.state(0, chunk);
      state.momentum.insert(state.momentum.end(), momentum.begin(), momentum.end());
    }
  return state;
}

// A shard's server on a thread of its own, as in its process.
class ShardHost final {
 public:
  template <typename Call>
  auto on_thread(Call call) {
    return asio::post(io_, asio::use_future(std::move(call))).get();
  }

  ShardHost(const TcpJobOptions& options, const JobCredentials& job, std::uint32_t index)
      : server_(io_, {"127.0.0.1", 0}, job, options.optimizer, options.chunk_bytes,
                WireFormat(options.precision)),
        port_(server_.port()),
        work_(io_.get_executor()),
        thread_([this] { io_.run(); }) {
    ConfigureShard message;
    message.index = index;
    message.shards = options.shards;
    message.flat_size = options.flat_size;
    message.samples_per_epoch = 60000;
    message.membership = membership_of(options);
    on_thread([&] { server_.configure(message); });
  }
  ~ShardHost() {
    io_.stop();
    thread_.join();
  }
  ShardHost(const ShardHost&) = delete;

  asio::io_context& io() { return io_; }
  ShardServer& server() { return server_; }
  std::uint16_t port() const { return port_; }

 private:
  asio::io_context io_{1};
  ShardServer server_;
  const std::uint16_t port_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

// Two ends of a connection, with little room on its way.
struct Pipe {
  Pipe(asio::io_context& sending_io, asio::io_context& receiving_io) {
    constexpr int kRoomBytes = 1 << 16;
    tcp::acceptor acceptor(receiving_io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    acceptor.set_option(asio::socket_base::receive_buffer_size(kRoomBytes));
    tcp::socket sending(sending_io), receiving(receiving_io);
    sending.open(tcp::v4());
    sending.set_option(asio::socket_base::send_buffer_size(kRoomBytes));
    sending.connect(acceptor.local_endpoint());
    acceptor.accept(receiving);
    sender = std::make_shared<FrameConnection>(std::move(sending), SIZE_MAX);
    receiver = std::make_shared<FrameConnection>(std::move(receiving), SIZE_MAX);
  }
  std::shared_ptr<FrameConnection> sender, receiver;
};

class TcpJob final {
 public:
  explicit TcpJob(TcpJobOptions options) : options_(std::move(options)) {
    for (std::uint32_t i = 0; i < options_.shards; ++i)
      shards_.push_back(std::make_unique<ShardHost>(options_, credentials_, i));
  }

  const TcpJobOptions& options() const { return options_; }
  const JobCredentials& credentials() const { return credentials_; }
  ShardHost& shard(std::uint32_t index) { return *shards_[index]; }
  ChunkLayout layout() const {
    return ChunkLayout(options_.flat_size, options_.chunk_bytes, options_.shards);
  }

  SyncGroup group(std::uint32_t rank) const {
    SyncGroup group;
    group.rank = rank;
    group.membership = membership_of(options_);
    for (std::uint32_t i = 0; i < shards_.size(); ++i)
      group.shards.push_back({"127.0.0.1", shards_[i]->port(), i < options_.near_shards});
    group.writes_initial_weights = rank == 0;
    return group;
  }

 private:
  TcpJobOptions options_;
  JobCredentials credentials_ = JobCredentials::generate();
  std::vector<std::unique_ptr<ShardHost>> shards_;
};

// One worker: its io thread and its synchroniser. Calls come from one thread, as in its process.
class TcpWorker final {
 public:
  TcpWorker(const TcpJob& job, std::uint32_t rank)
      : rank_(rank),
        synchroniser_(io_.context(), clock_, job.layout(), job.credentials(),
                      WireFormat(job.options().precision)) {
    if (!synchroniser_.join(job.group(rank), write_initial_weights))
      throw ConnectionError({.what = synchroniser_.problem(), .where = "test", .remedy = {}});
  }

  SyncResult iterate(std::uint64_t iteration) {
    begin(iteration);
    return synchroniser_.finish().value();
  }
  // Everything but the wait: gradients become final from the end, in pieces that fit no chunk.
  void begin(std::uint64_t iteration) {
    synchroniser_.begin(iteration);
    write_gradient(synchroniser_.weights(), iteration, rank_, synchroniser_.gradients());
    for (std::uint64_t last = synchroniser_.weights().size(); last > 0;) {
      const std::uint64_t first = last > 777 ? last - 777 : 0;
      synchroniser_.gradient_ready(first, last);
      last = first;
    }
  }
  TcpSynchroniser& synchroniser() { return synchroniser_; }
  std::vector<float> weights() {
    return {synchroniser_.weights().begin(), synchroniser_.weights().end()};
  }

 private:
  std::uint32_t rank_;
  IoThread io_;
  SteadyClock clock_;
  TcpSynchroniser synchroniser_;
};

}  // namespace scavenger::ps
