#include "apps/worker_process/all_reduce.h"

#include <cstdint>
#include <utility>

#include "apps/worker_process/worker_process.h"
#include "ps/shard/state_frames.h"
#include "runtime/base/error.h"
#include "runtime/net/spawn.h"

namespace scavenger {
namespace {

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

}  // namespace

ps::ChunkLayout whole_layout(const AllReduceParts& parts) {
  return {parts.trainer.parameters().flat_size(), parts.config.ps.chunk_bytes, 1};
}

std::unique_ptr<Synchroniser> make_collective_synchroniser(const AllReduceParts& parts,
                                                           std::unique_ptr<Replica> replica,
                                                           std::unique_ptr<Collective> collective) {
  const ps::ChunkLayout layout = whole_layout(parts);
  const auto deliver = [&io = parts.io, controller = parts.link.connection(), layout](
                           std::uint32_t epoch, std::shared_ptr<const ps::ShardSnapshot> snapshot) {
    spawn(io.context(),
          unless_disconnected(send_snapshot(controller, layout, epoch, std::move(snapshot))));
  };
  return std::make_unique<ps::CollectiveSynchroniser>(
      ps::CollectiveSynchroniser::Parts{std::move(replica), std::move(collective), deliver}, layout,
      parts.clock,
      ps::CollectiveSynchroniser::Options{parts.config.optimizer, parts.train_samples, {}});
}

}  // namespace scavenger
