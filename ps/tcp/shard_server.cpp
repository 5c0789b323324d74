#include "ps/tcp/shard_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/config/learning_rate.h"

namespace scavenger::ps {
namespace {

[[noreturn]] void refuse(std::string what) {
  throw ProtocolError({.what = std::move(what), .where = "shard", .remedy = {}});
}

std::span<float> as_floats(std::vector<std::byte>& bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

ShardServer::ShardServer(asio::io_context& io, const Endpoint& listen,
                         const JobCredentials& credentials, const OptimizerConfig& optimizer,
                         std::uint64_t chunk_bytes, WireFormat format)
    : io_(io),
      listener_(io, listen, credentials, SIZE_MAX,
                [this](std::shared_ptr<FrameConnection> connection) {
                  return serve(std::move(connection));
                }),
      optimizer_(optimizer),
      chunk_bytes_(chunk_bytes),
      format_(format) {}

// ---- Configuration and state. ----

void ShardServer::configure(const ConfigureShard& message) {
  const ChunkLayout layout(message.flat_size, chunk_bytes_, message.shards);
  if (!shard_)
    shard_.emplace(layout, message.index, optimizer_);
  else if (shard_->layout() != layout || shard_->shard() != message.index)
    refuse("the shard cannot become another one");
  else if (message.membership.epoch <= membership_.epoch)
    refuse(
        fmt::format("membership epoch {} follows {}", message.membership.epoch, membership_.epoch));
  if (message.goes_on && !started_) refuse("a shard without weights cannot go on with them");
  started_ = halted_ = false;
  membership_ = message.membership;
  samples_per_epoch_ = message.samples_per_epoch;
  close_clients();
  has_state_ = message.has_state;
  pieces_.expect(0, 0);
  if (message.goes_on) return begin_membership();
  shard_->start({membership_.first_iteration, message.optimizer_steps});
  const std::size_t vectors = message.has_state ? 1 + shard_->optimizer().state_names().size() : 1;
  pieces_.expect(vectors, shard_->chunks().size());
}

// Closes the connections of an earlier membership, whose remaining data must not reach the
// gradients of this one.
void ShardServer::close_clients() {
  for (Client* client : clients_)
    if (client != nullptr) client->connection->close();
  clients_.assign(membership_.workers(), nullptr);
  has_pulled_.assign(membership_.workers(), 0);
  near_.assign(membership_.workers(), nullptr);
}

Halted ShardServer::halt() {
  halted_ = true;
  return {started_ ? shard_->iteration() : 0, started_, {}};
}

bool ShardServer::load_state(const FrameHeader& header) {
  if (halted_ || header.membership_epoch < membership_.epoch) return false;
  if (!shard_ || started_ || !has_state_) refuse("state came when it was not expected");
  if (state_payload_.size() % sizeof(float) != 0) refuse("a part of a number came as state");
  const auto floats = as_floats(state_payload_);
  if (header.rank == 0)
    shard_->load_weights(header.chunk, floats);
  else
    shard_->load_state(header.rank - 1, header.chunk, floats);
  if (!pieces_.note(header.rank, shard_->layout().index_in_shard(header.chunk))) return false;
  begin_membership();
  return true;
}

void ShardServer::begin_membership() {
  ps::Membership membership{membership_.epoch, membership_.shares, {}};
  while (gradients_.size() < membership_.workers())
    gradients_.emplace_back(shard_->layout().packed_size(shard_->shard()));
  for (std::uint32_t rank = 0; rank < membership_.workers(); ++rank)
    membership.gradients.push_back(gradients_[rank].span());
  shard_->reconfigure(std::move(membership), membership_.first_iteration);
  started_ = true;
  for (Client* client : clients_)
    if (client != nullptr) begin_training(*client);
}

// ---- Connections. ----

awaitable<void> ShardServer::serve(std::shared_ptr<FrameConnection> connection) {
  Client client{std::move(connection), std::nullopt, {}, nullptr};
  try {
    co_await serve_frames(client);
  } catch (const Error&) {
    if (client.rank && *client.rank < clients_.size() && clients_[*client.rank] == &client)
      clients_[*client.rank] = nullptr;
    throw;
  }
}

awaitable<void> ShardServer::serve_frames(Client& client) {
  for (;;) {
    const FrameHeader header =
        co_await client.connection->receive_header(static_cast<std::uint32_t>(chunk_bytes_));
    if (!shard_) refuse("a worker came before the shard was configured");
    switch (header.type) {
      case FrameType::kInitial:
        co_await take_initial(client, header);
        break;
      case FrameType::kGradient:
        co_await take_gradient(client, header);
        break;
      case FrameType::kClip:
        take_clip(client, header);
        break;
      case FrameType::kPull:
        co_await take_pull(client, header);
        break;
      default:
        refuse("a worker sent a frame that only others may send");
    }
  }
}

awaitable<void> ShardServer::take_initial(Client& client, FrameHeader header) {
  if (header.payload_bytes % sizeof(float) != 0) refuse("a worker sent a part of a number");
  std::vector<std::byte> payload(header.payload_bytes);
  co_await client.connection->receive_payload(payload);
  if (halted_) co_return;
  if (started_ || has_state_ || header.membership_epoch != membership_.epoch)
    refuse("initial weights came when they were not expected");
  shard_->load_weights(header.chunk, as_floats(payload));
  if (pieces_.note(0, shard_->layout().index_in_shard(header.chunk))) begin_membership();
}

awaitable<void> ShardServer::take_pull(Client& client, FrameHeader header) {
  std::array<std::byte, kNearPlaceBytes> place{};
  const bool is_near = header.payload_bytes > 0;
  if (is_near && (header.payload_bytes != place.size() || format_.rounds()))
    refuse("a pull came with something that is no place in memory");
  if (is_near) co_await client.connection->receive_payload(place);
  if (halted_) co_return;
  if (header.membership_epoch != membership_.epoch)
    refuse("a worker of another membership wants weights");
  // A worker that has lost its connection waits for the next membership. A worker that replaced it
  // within an iteration would get weights of two iterations, and the rank's earlier contributions
  // may be summed at any time in their place.
  if (header.rank >= clients_.size() || has_pulled_[header.rank] != 0 || client.rank)
    refuse(fmt::format("a second or impossible worker {}", header.rank));
  if (is_near)
    near_[header.rank] = client.near =
        std::make_shared<NearVectors>(decode_near_place(place), shard_->layout().flat_size());
  client.rank = header.rank;
  clients_[header.rank] = &client;
  has_pulled_[header.rank] = 1;
  if (started_) begin_training(client);
}

void ShardServer::begin_training(Client& client) {
  if (client.near) shard_->use_flat_gradient(*client.rank, client.near->gradients());
  for (const std::uint32_t chunk : shard_->chunks())
    send_weights(client,
                 {.type = FrameType::kWeights,
                  .membership_epoch = membership_.epoch,
                  .chunk = chunk,
                  .iteration = shard_->iteration(),
                  .rank = *client.rank},
                 wire_weights(chunk));
}

void ShardServer::send_weights(Client& client, const FrameHeader& header,
                               std::span<const std::byte> wire_weights) {
  if (!client.near) return client.connection->post(header, wire_weights);
  const ChunkRange range = shard_->layout().range(header.chunk);
  std::memcpy(client.near->weights().data() + range.first, shard_->weights(header.chunk).data(),
              range.size * sizeof(float));
  client.connection->post(header, {});
}

// Returns the latest version. Its bytes do not change until the second next iteration, for which no
// worker has gradients before all have read them. Rounded weights are kept until the chunk's next
// step, which needs gradients of workers that have read all of them.
std::span<const std::byte> ShardServer::wire_weights(std::uint32_t chunk) {
  const auto weights = shard_->weights(chunk);
  if (!format_.rounds()) return std::as_bytes(weights);
  rounded_weights_.resize(shard_->layout().packed_size(shard_->shard()));
  return round_for_wire(
      weights,
      std::span(rounded_weights_).subspan(shard_->layout().packed_offset(chunk), weights.size()));
}

awaitable<void> ShardServer::take_gradient(Client& client, FrameHeader header) {
  const ChunkStamp stamp{header.membership_epoch, header.iteration, header.chunk, header.rank};
  if (!halted_ && (!started_ || !client.rank || header.rank != *client.rank))
    refuse("a gradient came from a worker that has not pulled");
  if (header.payload_bytes % format_.bytes_per_float() != 0)
    refuse("a worker sent a part of a number");
  if (halted_ || shard_->admit(stamp, gradient_size(client, header)) == Admission::kStale) {
    std::vector<std::byte> dropped(header.payload_bytes);
    co_await client.connection->receive_payload(dropped);
    co_return;
  }
  if (!client.near) co_await receive_gradient(client, shard_->gradient(header.rank, header.chunk));
  if (halted_ || !started_) co_return;  // changed while the payload was read
  const double rate =
      learning_rate_at(optimizer_, membership_, samples_per_epoch_, header.iteration);
  const Outcome outcome = shard_->contribute(stamp, rate);
  if (outcome == Outcome::kChunkComplete || outcome == Outcome::kIterationComplete)
    publish(header.chunk, header.iteration);
  else if (outcome == Outcome::kAllSummed)
    clip_or_ask(header.iteration);
}

// ---- Clipping: the norm is that of the gradient over all shards. ----

void ShardServer::clip_or_ask(std::uint64_t iteration) {
  sent_norms_ = shard_->summed_sqr_norms();
  if (shard_->layout().shard_count() == 1)
    return step_clipped(iteration, sum_in_chunk_order(sent_norms_));
  if (clients_[0] == nullptr) return;  // it is lost, so the iteration is lost, too
  const auto payload = std::as_bytes(std::span(sent_norms_));
  clients_[0]->connection->post({.type = FrameType::kNorms,
                                 .membership_epoch = membership_.epoch,
                                 .iteration = iteration,
                                 .rank = 0},
                                payload);
}

void ShardServer::take_clip(const Client& client, const FrameHeader& header) {
  if (halted_) return;
  if (!started_ || client.rank != 0U || header.payload_bytes > 0 || optimizer_.clip_norm <= 0.0)
    refuse("a worker that may not do so told how to clip");
  if (header.membership_epoch < membership_.epoch || header.iteration < shard_->iteration()) return;
  if (header.membership_epoch > membership_.epoch) refuse("a worker of another membership clips");
  step_clipped(header.iteration, header.global_sqr_norm);
}

void ShardServer::step_clipped(std::uint64_t iteration, double sqr_norm) {
  if (shard_->step_clipped(membership_.epoch, iteration, sqr_norm) != Outcome::kIterationComplete)
    return;
  for (const std::uint32_t chunk : shard_->chunks()) publish(chunk, iteration);
}

// Returns the size in floats. The gradient of a near worker is complete in its place, and none of
// it is sent.
std::uint64_t ShardServer::gradient_size(const Client& client, const FrameHeader& header) const {
  const std::uint64_t sent = header.payload_bytes / format_.bytes_per_float();
  if (!client.near || sent > 0 || header.chunk >= shard_->layout().chunk_count()) return sent;
  return shard_->layout().range(header.chunk).size;
}

awaitable<void> ShardServer::receive_gradient(Client& client, std::span<float> gradient) {
  if (!format_.rounds()) {
    co_await client.connection->receive_payload(std::as_writable_bytes(gradient));
    co_return;
  }
  client.rounded.resize(gradient.size());
  co_await client.connection->receive_payload(std::as_writable_bytes(std::span(client.rounded)));
  widen_from_wire(client.rounded, gradient);
}

void ShardServer::publish(std::uint32_t chunk, std::uint64_t iteration) {
  const ChunkNorms norms = shard_->norms(chunk);
  const auto weights = wire_weights(chunk);
  for (std::uint32_t rank = 0; rank < clients_.size(); ++rank) {
    if (clients_[rank] == nullptr) continue;
    send_weights(*clients_[rank],
                 {.type = FrameType::kWeights,
                  .membership_epoch = membership_.epoch,
                  .chunk = chunk,
                  .iteration = iteration + 1,
                  .rank = rank,
                  .local_sqr_norm = norms.rank_sqr_norms[rank],
                  .global_sqr_norm = norms.sqr_norm},
                 weights);
  }
}

// ---- Snapshots. ----

void ShardServer::begin_snapshot(std::uint64_t iteration) {
  if (!started_ || shard_->iteration() != iteration || !shard_->at_boundary())
    refuse(fmt::format("a snapshot of iteration {} was asked for, but the shard is elsewhere",
                       iteration));
  if (is_copying()) refuse("a snapshot was asked for while another is being copied");
  shard_->begin_snapshot();
}

awaitable<void> ShardServer::send_snapshot(std::shared_ptr<FrameConnection> destination) {
  while (shard_->copy_chunk_to_snapshot()) co_await asio::post(io_, use_awaitable);
  const ShardSnapshot snapshot = shard_->take_snapshot();
  co_await send_state(std::move(destination), shard_->layout(), shard_->shard(), membership_.epoch,
                      snapshot);
}

}  // namespace scavenger::ps
