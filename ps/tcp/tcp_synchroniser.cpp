#include "ps/tcp/tcp_synchroniser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_future.hpp>
#include <numeric>
#include <utility>

#include "ps/core/reduction.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/net/spawn.h"

namespace scavenger::ps {
namespace {

constexpr double kConnectSeconds = 20.0;

[[noreturn]] void refuse_shard(std::string what) {
  throw ProtocolError({.what = std::move(what), .where = "shard", .remedy = {}});
}

}  // namespace

TcpSynchroniser::TcpSynchroniser(asio::io_context& io, const Clock& clock, ChunkLayout layout,
                                 const JobCredentials& credentials, WireFormat format)
    : TcpSynchroniser(io, clock, layout, credentials, format,
                      std::make_unique<NearVectors>(layout.flat_size())) {}

TcpSynchroniser::TcpSynchroniser(asio::io_context& io, const Clock& clock, ChunkLayout layout,
                                 const JobCredentials& credentials, WireFormat format,
                                 std::unique_ptr<NearVectors> owned)
    : TcpSynchroniser(io, clock, layout, credentials,
                      Memory{owned->weights(), owned->gradients(), owned->place()}, format) {
  owned_ = std::move(owned);
}

TcpSynchroniser::TcpSynchroniser(asio::io_context& io, const Clock& clock, ChunkLayout layout,
                                 const JobCredentials& credentials, const Memory& memory,
                                 WireFormat format)
    : io_(io),
      clock_(clock),
      layout_(layout),
      credentials_(credentials),
      format_(format),
      weights_(memory.weights),
      gradients_(memory.gradients),
      place_(encode(memory.place)),
      ready_chunks_(layout),
      rounded_gradients_(format.rounds() ? layout.flat_size() : 0),
      arrived_(layout.chunk_count()),
      local_sqr_norms_(layout.chunk_count()),
      global_sqr_norms_(layout.chunk_count()) {}

TcpSynchroniser::~TcpSynchroniser() {
  leave();
}

// ---- Joining. ----

void TcpSynchroniser::leave() {
  asio::post(io_, asio::use_future([this] {
               for (const auto& connection : connections_) connection->close();
               connections_.clear();
               is_near_.clear();
               norms_arrived_ = 0;
             }))
      .get();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return readers_ == 0; });  // readers end with their connections
  failure_ = nullptr;
}

bool TcpSynchroniser::join(const SyncGroup& group, const InitialWeights& initial_weights) {
  SCAVENGER_CHECK(group.shards.size() == layout_.shard_count());
  leave();
  rank_ = group.rank;
  membership_epoch_ = group.membership.epoch;
  if (group.writes_initial_weights) initial_weights(weights_);
  expect_weights(group.membership.first_iteration);
  try {
    start_connecting(group).get();
  } catch (const boost::system::system_error&) {
    SCAVENGER_CHECK(is_interrupted());
    return false;
  } catch (const ConnectionError&) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  return wait_for_weights({});
}

// Only the io thread accesses stop_connecting_. There, an interruption comes either before this,
// which checks for it, or after it, and then cancels.
std::future<void> TcpSynchroniser::start_connecting(const SyncGroup& group) {
  auto connected = std::make_shared<std::promise<void>>();
  asio::post(io_, [this, group, connected] {
    if (is_interrupted()) return connected->set_value();
    asio::co_spawn(io_, connect_all(group),
                   asio::bind_cancellation_slot(
                       stop_connecting_.slot(), [connected](const std::exception_ptr& failure) {
                         failure ? connected->set_exception(failure) : connected->set_value();
                       }));
  });
  return connected->get_future();
}

bool TcpSynchroniser::is_interrupted() const {
  const std::lock_guard lock(mutex_);
  return interrupted_;
}

awaitable<void> TcpSynchroniser::connect_all(SyncGroup group) {
  for (std::uint32_t shard = 0; shard < group.shards.size(); ++shard) {
    const Endpoint endpoint{group.shards[shard].host, group.shards[shard].port};
    JobSocket socket = co_await connect_authenticated(endpoint, credentials_, kConnectSeconds);
    connections_.push_back(std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX));
    FrameConnection& connection = *connections_.back();
    is_near_.push_back(group.shards[shard].is_near ? 1 : 0);
    if (group.writes_initial_weights) post_initial_weights(connection, shard);
    post_pull(connection, shard);
    {
      const std::lock_guard lock(mutex_);
      ++readers_;
    }
    spawn(io_, read_weights(connections_.back(), shard));
  }
}

// Shards answer a pull only when all initial weights have arrived, so these bytes do not change
// until they are written.
void TcpSynchroniser::post_initial_weights(FrameConnection& connection, std::uint32_t shard) {
  for (const std::uint32_t chunk : layout_.chunks_of(shard)) {
    const ChunkRange range = layout_.range(chunk);
    connection.post({.type = FrameType::kInitial,
                     .membership_epoch = membership_epoch_,
                     .chunk = chunk,
                     .rank = rank_},
                    std::as_bytes(weights_.subspan(range.first, range.size)));
  }
}

void TcpSynchroniser::post_pull(FrameConnection& connection, std::uint32_t shard) {
  connection.post(
      {.type = FrameType::kPull, .membership_epoch = membership_epoch_, .rank = rank_},
      is_near_[shard] != 0 ? std::span<const std::byte>(place_) : std::span<const std::byte>());
}

void TcpSynchroniser::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
  }
  changed_.notify_all();
  asio::post(io_, [this] { stop_connecting_.emit(asio::cancellation_type::all); });
}

void TcpSynchroniser::allow() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
}

std::string TcpSynchroniser::problem() const {
  const std::lock_guard lock(mutex_);
  if (interrupted_ || !failure_) return {};
  try {
    std::rethrow_exception(failure_);
  } catch (const Error& error) {
    return error.what();
  }
}

// ---- The compute thread. ----

void TcpSynchroniser::begin(std::uint64_t iteration) {
  iteration_ = iteration;
  ready_chunks_.begin_iteration();
  expect_weights(iteration + 1);
}

void TcpSynchroniser::gradient_ready(std::uint64_t first, std::uint64_t last) {
  ready_chunks_.finish(first, last, [this](std::uint32_t chunk) {
    asio::post(io_, [this, chunk, iteration = iteration_] { send_gradient(chunk, iteration); });
  });
}

std::optional<SyncResult> TcpSynchroniser::finish() {
  SCAVENGER_CHECK(ready_chunks_.all_ready());
  const double start_seconds = clock_.now_seconds();
  if (!wait_for_weights(weights_ready_)) return std::nullopt;
  SyncResult result;
  result.wait_seconds = clock_.now_seconds() - start_seconds;
  // Adds in the order of chunks, so that the sums do not depend on the order of arrival. No lock is
  // needed: all weights are here, so the io thread writes no norms before the next
  // expect_weights().
  result.local_gradient_sqr_norm =
      std::accumulate(local_sqr_norms_.begin(), local_sqr_norms_.end(), 0.0);
  result.global_gradient_sqr_norm =
      std::accumulate(global_sqr_norms_.begin(), global_sqr_norms_.end(), 0.0);
  return result;
}

void TcpSynchroniser::tell_of_weights(const WeightsReady& ready) {
  const std::lock_guard lock(mutex_);
  weights_ready_ = ready;
}

void TcpSynchroniser::expect_weights(std::uint64_t iteration) {
  const std::lock_guard lock(mutex_);
  awaited_iteration_ = iteration;
  awaited_chunks_ = layout_.chunk_count();
  std::fill(arrived_.begin(), arrived_.end(), std::uint8_t{0});
  fresh_.clear();
}

bool TcpSynchroniser::wait_for_weights(const WeightsReady& ready) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] {
      return awaited_chunks_ == 0 || failure_ || interrupted_ || (ready && !fresh_.empty());
    });
    if (!ready || fresh_.empty()) return awaited_chunks_ == 0;
    const std::vector<std::uint32_t> fresh = std::exchange(fresh_, {});
    lock.unlock();
    for (const std::uint32_t chunk : fresh) {
      const ChunkRange range = layout_.range(chunk);
      ready(weights_, range.first, range.last());
    }
    lock.lock();
  }
}

// ---- The io thread. ----

void TcpSynchroniser::send_gradient(std::uint32_t chunk, std::uint64_t iteration) {
  if (connections_.size() != layout_.shard_count()) return;  // joining was interrupted
  const std::uint32_t shard = layout_.shard_of(chunk);
  connections_[shard]->post(
      {.type = FrameType::kGradient,
       .membership_epoch = membership_epoch_,
       .chunk = chunk,
       .iteration = iteration,
       .rank = rank_},
      is_near_[shard] != 0 ? std::span<const std::byte>() : wire_gradient(chunk));
}

std::span<const std::byte> TcpSynchroniser::wire_gradient(std::uint32_t chunk) {
  const ChunkRange range = layout_.range(chunk);
  const std::span<const float> gradient = gradients_.subspan(range.first, range.size);
  if (!format_.rounds()) return std::as_bytes(gradient);
  return round_for_wire(gradient, std::span(rounded_gradients_).subspan(range.first, range.size));
}

awaitable<void> TcpSynchroniser::receive_weights(FrameConnection& connection,
                                                 std::span<float> weights,
                                                 std::vector<Bfloat16>& room) {
  if (!format_.rounds()) {
    co_await connection.receive_payload(std::as_writable_bytes(weights));
    co_return;
  }
  room.resize(weights.size());
  co_await connection.receive_payload(std::as_writable_bytes(std::span(room)));
  widen_from_wire(room, weights);
}

awaitable<void> TcpSynchroniser::read_weights(std::shared_ptr<FrameConnection> connection,
                                              std::uint32_t shard) {
  std::vector<Bfloat16> room;  // for received weights, if they are rounded
  try {
    for (;;) {
      const FrameHeader header = co_await connection->receive_header(static_cast<std::uint32_t>(
          std::max(layout_.chunk_size() * sizeof(float), layout_.chunk_count() * sizeof(double))));
      if (header.type == FrameType::kNorms) {
        co_await take_norms(*connection, header, shard);
        continue;
      }
      check_weights_frame(header, shard);
      const ChunkRange range = layout_.range(header.chunk);
      // No thread reads these weights any more, since the shard has answered this worker's gradient
      // of the same chunk. A near shard has already written them.
      if (is_near_[shard] == 0)
        co_await receive_weights(*connection, weights_.subspan(range.first, range.size), room);
      const std::lock_guard lock(mutex_);
      local_sqr_norms_[header.chunk] = header.local_sqr_norm;
      global_sqr_norms_[header.chunk] = header.global_sqr_norm;
      if (weights_ready_) fresh_.push_back(header.chunk);
      if (--awaited_chunks_ == 0 || weights_ready_) changed_.notify_one();
    }
  } catch (const Error& failure) {
    fail(std::make_exception_ptr(ConnectionError({.what = failure.what(),
                                                  .where = fmt::format("shard {}", shard),
                                                  .remedy = "see its log"})));
  }
}

void TcpSynchroniser::check_weights_frame(const FrameHeader& header, std::uint32_t shard) {
  if (header.type != FrameType::kWeights || header.membership_epoch != membership_epoch_ ||
      header.rank != rank_)
    refuse_shard("a frame came that is not for this worker");
  if (header.chunk >= layout_.chunk_count() || layout_.shard_of(header.chunk) != shard ||
      header.payload_bytes !=
          (is_near_[shard] != 0 ? 0 : layout_.range(header.chunk).size * format_.bytes_per_float()))
    refuse_shard(fmt::format("chunk {} is not of this shard, or has a wrong size", header.chunk));
  const std::lock_guard lock(mutex_);
  if (header.iteration != awaited_iteration_ || arrived_[header.chunk] != 0)
    refuse_shard(fmt::format("weights of iteration {} came, those of {} are awaited",
                             header.iteration, awaited_iteration_));
  arrived_[header.chunk] = 1;
}

// ---- Clipping. Each shard has a part of the gradient; the norm is computed here. ----

awaitable<void> TcpSynchroniser::take_norms(FrameConnection& connection, FrameHeader header,
                                            std::uint32_t shard) {
  check_norms_frame(header, shard);
  std::vector<double> norms(header.payload_bytes / sizeof(double));
  co_await connection.receive_payload(std::as_writable_bytes(std::span(norms)));
  if (norms_iteration_ != header.iteration) norms_arrived_ = 0;
  norms_iteration_ = header.iteration;
  summed_sqr_norms_.resize(layout_.chunk_count());
  const std::vector<std::uint32_t> chunks = layout_.chunks_of(shard);
  for (std::size_t i = 0; i < chunks.size(); ++i) summed_sqr_norms_[chunks[i]] = norms[i];
  if (++norms_arrived_ == layout_.shard_count()) post_clip(header.iteration);
}

void TcpSynchroniser::check_norms_frame(const FrameHeader& header, std::uint32_t shard) const {
  const std::lock_guard lock(mutex_);
  if (header.membership_epoch != membership_epoch_ || rank_ != 0 || header.rank != 0 ||
      header.iteration + 1 != awaited_iteration_ ||
      header.payload_bytes != layout_.chunks_of(shard).size() * sizeof(double) ||
      (norms_iteration_ == header.iteration && norms_arrived_ >= layout_.shard_count()))
    refuse_shard("norms came that are not for this worker, or not now");
}

// Adds in the order of chunks, so that the norm does not depend on the number of shards.
void TcpSynchroniser::post_clip(std::uint64_t iteration) {
  const double sqr_norm = sum_in_chunk_order(summed_sqr_norms_);
  for (const auto& connection : connections_)
    connection->post({.type = FrameType::kClip,
                      .membership_epoch = membership_epoch_,
                      .iteration = iteration,
                      .rank = rank_,
                      .global_sqr_norm = sqr_norm},
                     {});
}

void TcpSynchroniser::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  --readers_;
  changed_.notify_one();
}

}  // namespace scavenger::ps
