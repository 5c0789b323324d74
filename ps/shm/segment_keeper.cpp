#include "ps/shm/segment_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger::ps {
namespace {

[[noreturn]] void refuse_keeping(std::string what) {
  throw ProtocolError(
      {.what = std::move(what), .where = "keeper of the shared memory", .remedy = {}});
}

}  // namespace

SegmentKeeper::SegmentKeeper(asio::io_context& io, FileDescriptor file,
                             const OptimizerConfig& optimizer, std::uint64_t chunk_bytes)
    : io_(io),
      file_(std::move(file)),
      optimizer_(optimizer),
      clips_(optimizer.clip_norm > 0.0),
      chunk_bytes_(chunk_bytes) {}

void SegmentKeeper::configure(const ConfigureShard& message) {
  if (message.shards != 1) refuse_keeping("shared memory is one shard");
  if (message.membership.workers() > kMostWorkers) refuse_keeping("there are too many workers");
  const auto vectors = static_cast<std::uint32_t>(optimizer_.state_names().size());
  const SegmentShape shape{message.flat_size, chunk_bytes_, vectors};
  if (!segment_) segment_ = Segment::create(file_.get(), shape);
  SegmentHeader& header = segment_->header();
  if (header.shape != shape) refuse_keeping("the model cannot become another one");
  if (message.membership.epoch <= header.membership_epoch)
    refuse_keeping(fmt::format("membership epoch {} follows {}", message.membership.epoch,
                               header.membership_epoch.load()));
  const std::uint64_t first = message.membership.first_iteration;
  const bool goes_on = message.goes_on;
  if (goes_on && header.has_weights == 0) refuse_keeping("there are no weights to go on with");
  if (goes_on && first != segment_->board().iteration())
    refuse_keeping(fmt::format("iteration {} cannot be gone on from at {}", first,
                               segment_->board().iteration()));
  halted_ = false;
  finish_copying();
  header.copying = 0;  // may be left over from an earlier keeper
  header.optimizer_steps = goes_on ? progress().optimizer_steps : message.optimizer_steps;
  header.membership_epoch = message.membership.epoch;
  header.has_weights = goes_on ? 1 : 0;
  pieces_.expect(message.has_state ? 1 + vectors : 0, segment_->layout().chunk_count());
  if (header.optimizer_steps == 0)
    for (const std::span<float> vector : segment_->version(first).state)
      std::ranges::fill(vector, 0.0F);
  segment_->begin_membership(first, message.membership.workers(), clips_);
}

Halted SegmentKeeper::halt() {
  halted_ = true;
  const auto iteration = Segment::weights_in(file_.get());
  return {iteration.value_or(0), iteration.has_value(), {}};
}

bool SegmentKeeper::load_state(const FrameHeader& header) {
  if (halted_ || (segment_ && header.membership_epoch < segment_->header().membership_epoch))
    return false;
  const ChunkLayout* layout = segment_ ? &segment_->layout() : nullptr;
  if (layout == nullptr || pieces_.complete() || header.chunk >= layout->chunk_count() ||
      header.rank > optimizer_.state_names().size() ||
      state_payload_.size() != layout->range(header.chunk).size * sizeof(float))
    refuse_keeping("state came that was not expected");
  const ChunkRange range = layout->range(header.chunk);
  const Version part =
      segment_->version(segment_->board().iteration()).part(range.first, range.size);
  const std::span<float> place = header.rank == 0 ? part.weights : part.state[header.rank - 1];
  std::memcpy(place.data(), state_payload_.data(), state_payload_.size());
  if (!pieces_.note(header.rank, header.chunk)) return false;
  announce_weights();
  return true;
}

void SegmentKeeper::announce_weights() {
  segment_->header().has_weights = 1;
  segment_->board().announce();
}

ShardProgress SegmentKeeper::progress() const {
  if (!segment_) return {Segment::iteration_in(file_.get()).value_or(0), 0};
  const SegmentHeader& header = segment_->header();
  const std::uint64_t iteration = header.board.iteration;
  return {iteration, header.optimizer_steps + iteration - header.board.first_iteration};
}

// ---- Snapshots. ----

void SegmentKeeper::begin_snapshot(std::uint64_t iteration) {
  if (!segment_ || segment_->header().has_weights == 0 ||
      segment_->board().iteration() != iteration)
    refuse_keeping(fmt::format("a snapshot of iteration {} was asked for, but the job is elsewhere",
                               iteration));
  if (segment_->header().copying != 0)
    refuse_keeping("a snapshot was asked for while another is being copied");
  if (!snapshot_ || snapshot_.use_count() > 1) {  // there is none, or it is still being sent
    const std::uint64_t size = segment_->layout().flat_size();
    snapshot_ = std::make_shared<ShardSnapshot>(
        ShardSnapshot{.progress = {}, .weights = FloatBuffer(size), .state = {}});
    for (std::size_t v = 0; v < optimizer_.state_names().size(); ++v)
      snapshot_->state.emplace_back(size);
  }
  snapshot_->progress = progress();
  next_to_copy_ = 0;
  segment_->header().copying = iteration + 1;
}

// Copies one chunk. Returns false if none is left.
bool SegmentKeeper::copy_chunk() {
  if (segment_->header().copying == 0) return false;
  const ChunkRange range = segment_->layout().range(next_to_copy_);
  const Version part =
      segment_->version(snapshot_->progress.iteration).part(range.first, range.size);
  // (std::ranges::copy copies float by float.)
  const auto copy = [&](std::span<const float> floats, FloatBuffer& whole) {
    std::memcpy(whole.span().data() + range.first, floats.data(), floats.size_bytes());
  };
  copy(part.weights, snapshot_->weights);
  for (std::size_t v = 0; v < snapshot_->state.size(); ++v)
    copy(part.state[v], snapshot_->state[v]);
  if (++next_to_copy_ < segment_->layout().chunk_count()) return true;
  segment_->header().copying = 0;
  segment_->board().announce();
  return false;
}

void SegmentKeeper::finish_copying() {
  if (!snapshot_) return;
  while (copy_chunk()) {
  }
}

awaitable<void> SegmentKeeper::send_snapshot(std::shared_ptr<FrameConnection> destination) {
  const std::shared_ptr<const ShardSnapshot> snapshot = snapshot_;
  while (copy_chunk()) co_await asio::post(io_, use_awaitable);
  co_await send_state(destination, segment_->layout(), 0, segment_->header().membership_epoch,
                      *snapshot);
}

}  // namespace scavenger::ps
