#include "elastic/coordinator/staffing/state_sender.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/optimizer.h"
#include "runtime/net/spawn.h"

namespace scavenger::elastic {
namespace {

constexpr std::size_t kQueueBytes = std::size_t{8} << 20;

struct Consignment {
  std::shared_ptr<FrameConnection> connection;
  std::shared_ptr<const Checkpoint> checkpoint;
  std::vector<std::span<const float>> vectors;  // weights, then the optimizer's
  ps::ChunkLayout layout;
  std::uint32_t shard = 0;
  std::uint32_t epoch = 0;
};

awaitable<void> send(std::shared_ptr<Consignment> all) {
  for (std::uint32_t vector = 0; vector < all->vectors.size(); ++vector)
    for (const std::uint32_t chunk : all->layout.chunks_of(all->shard)) {
      const ps::ChunkRange range = all->layout.range(chunk);
      all->connection->post({.type = FrameType::kState,
                             .membership_epoch = all->epoch,
                             .chunk = chunk,
                             .rank = vector},
                            std::as_bytes(all->vectors[vector].subspan(range.first, range.size)));
      co_await all->connection->wait_until_queued_at_most(kQueueBytes);
    }
  co_await all->connection->wait_until_queued_at_most(0);
}

}  // namespace

void send_state(asio::io_context& io, std::shared_ptr<FrameConnection> connection,
                const OptimizerConfig& optimizer, StatePart part) {
  std::vector<std::span<const float>> vectors = {part.checkpoint->weights};
  for (const std::string& name : ps::state_names_of(optimizer))
    vectors.emplace_back(part.checkpoint->optimizer.slots.at(name));
  auto all = std::make_shared<Consignment>(std::move(connection), std::move(part.checkpoint),
                                           std::move(vectors), part.layout, part.shard, part.epoch);
  spawn(io, unless_disconnected(send(std::move(all))));
}

}  // namespace scavenger::elastic
