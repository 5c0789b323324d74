#include "ps/shm/shm_synchroniser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <thread>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/config/learning_rate.h"
#include "runtime/training/clip_scale.h"

namespace scavenger::ps {
namespace {

// About 0.1 ms, five times the cost of sleeping and being woken.
constexpr int kSpins = 4000;
// The most that a lost wake-up costs, if a process dies before it could wake others.
constexpr double kSleepSeconds = 0.05;
// The number of waiting chunks from which it is worth waking a sleeping worker, which takes 20 to
// 40 us.
constexpr std::uint64_t kChunksWorthWaking = 4;
// If one step reads and writes more bytes than this, they do not fit into the caches.
constexpr std::uint64_t kCachedBytes = std::uint64_t{32} << 20;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ShmSynchroniser::ShmSynchroniser(std::unique_ptr<Segment> segment, const Clock& clock,
                                 const Options& options)
    : segment_(std::move(segment)),
      board_(segment_->board()),
      clips_(options.optimizer.clip_norm > 0.0),
      gradient_board_(clips_ ? segment_->sum_board() : segment_->board()),
      clock_(clock),
      options_(options),
      optimizer_(options.optimizer),
      ready_chunks_(segment_->layout()) {}

// ---- Joining. ----

bool ShmSynchroniser::join(const SyncGroup& group, const InitialWeights& initial_weights) {
  SegmentHeader& header = segment_->header();
  if (header.membership_epoch != group.membership.epoch)
    throw ProtocolError(
        {.what = fmt::format("it is at membership epoch {}, not {}", header.membership_epoch.load(),
                             group.membership.epoch),
         .where = "shared memory",
         .remedy = {}});
  membership_ = group.membership;
  rank_ = group.rank;
  slot_ = group.slots.at(group.rank);
  next_iteration_ = membership_.first_iteration;
  gradients_.clear();
  for (const std::uint32_t slot : group.slots) gradients_.push_back(segment_->gradient(slot));
  shares_ = batch_shares(membership_.shares);
  steppers_.resize(options_.in_parallel ? std::max(group.threads, 1U) : 1U);
  for (Stepper& stepper : steppers_) stepper.contributions.resize(gradients_.size());
  crowded_ = membership_.workers() * group.threads > options_.cores;
  const std::uint64_t vectors = gradients_.size() + 2 * (1 + optimizer_.state_names().size());
  streaming_ = vectors * segment_->layout().flat_size() * sizeof(float) > kCachedBytes;

  if (group.writes_initial_weights) {
    initial_weights(weights());
    header.has_weights = 1;
    board_.announce();
  }
  const auto has_weights = [&] { return header.has_weights != 0; };
  while (!has_weights() && !interrupted_)
    board_.sleep_unless([&] { return has_weights() || interrupted_; }, kSleepSeconds);
  return has_weights();
}

void ShmSynchroniser::interrupt() {
  interrupted_ = true;
  board_.announce();
}

// ---- An iteration. ----

void ShmSynchroniser::begin(std::uint64_t iteration) {
  SCAVENGER_CHECK(iteration == next_iteration_);
  ready_chunks_.begin_iteration();
  const double rate =
      learning_rate_at(options_.optimizer, membership_, options_.samples_per_epoch, iteration);
  const std::uint64_t done = iteration - membership_.first_iteration;
  step_ = optimizer_.step(rate, segment_->header().optimizer_steps + done + 1);
  for (Stepper& stepper : steppers_) stepper.clip_scale.reset();
  from_ = segment_->version(iteration);
  to_ = segment_->version(iteration + 1);
  untold_.resize(weights_ready_ ? segment_->layout().chunk_count() : 0);
  std::iota(untold_.begin(), untold_.end(), 0U);
}

// Workers that are not in a membership are halted or killed before it begins. If one is missed
// nevertheless, this check keeps it from changing anything.
bool ShmSynchroniser::is_current() const {
  return segment_->header().membership_epoch.load(std::memory_order_relaxed) == membership_.epoch;
}

void ShmSynchroniser::gradient_ready(std::uint64_t first, std::uint64_t last) {
  if (!is_current()) return;
  ready_chunks_.finish(first, last, [this](std::uint32_t chunk) {
    gradient_board_.contribute(next_iteration_, chunk);
  });
  if (gradient_board_.waiting_chunks() >= kChunksWorthWaking) board_.announce();
}

bool ShmSynchroniser::work_ahead() {
  if (interrupted_ || !is_current()) return false;
  const bool has_worked = work_on_ready_chunks();
  return tell_of_stepped() || has_worked;
}

std::optional<SyncResult> ShmSynchroniser::finish() {
  SCAVENGER_CHECK(ready_chunks_.all_ready() || !is_current());
  const double start_seconds = clock_.now_seconds();
  if (gradient_board_.waiting_chunks() > 1) board_.announce();
  while (board_.iteration() <= next_iteration_ || !is_current()) {
    if (interrupted_) return std::nullopt;
    const bool has_worked = work_on_ready_chunks();
    if (!tell_of_stepped() && !has_worked) wait_for_news();
  }
  tell_of_stepped();
  SyncResult yielded = result();
  yielded.wait_seconds = clock_.now_seconds() - start_seconds;
  ++next_iteration_;
  return yielded;
}

// Returns false if there were none.
bool ShmSynchroniser::work_on_ready_chunks() {
  return (clips_ && share(gradient_board_, &ShmSynchroniser::sum_ready_chunk)) ||
         share(board_, &ShmSynchroniser::step_ready_chunk);
}

// Divides the chunks that are ready among the computing threads. Which one takes a chunk changes no
// bit. Returns false if none was ready.
bool ShmSynchroniser::share(const ChunkBoard& board, Work work) {
  if (steppers_.size() == 1 || board.waiting_chunks() < 2) return (this->*work)(steppers_[0]);
  std::atomic<std::size_t> begun{0};
  std::atomic<bool> any{false};
  const auto own_thread = std::this_thread::get_id();
  options_.in_parallel([&] {
    const std::size_t mine = begun.fetch_add(1);
    if (mine >= steppers_.size()) return;
    while (!interrupted_ && (this->*work)(steppers_[mine])) {
      any = true;
      if (std::this_thread::get_id() == own_thread) tell_of_stepped();
    }
  });
  // A host program that has failed may have called nothing.
  return any || (begun == 0 && (this->*work)(steppers_[0]));
}

// Returns false while the version that this iteration writes is still being copied.
bool ShmSynchroniser::may_step() const {
  const std::uint64_t copying = segment_->header().copying;
  return copying == 0 || copying == next_iteration_ + 1;
}

void ShmSynchroniser::gather(ChunkRange range, Stepper& stepper) const {
  for (std::size_t rank = 0; rank < gradients_.size(); ++rank)
    stepper.contributions[rank] = {.gradient = gradients_[rank].data() + range.first,
                                   .share = shares_[rank]};
}

// The first of two passes if gradients are clipped: writes the sum over the gradient of rank 0.
bool ShmSynchroniser::sum_ready_chunk(Stepper& stepper) {
  if (!is_current()) return false;
  ChunkBoard& sum_board = segment_->sum_board();
  const auto chunk = sum_board.take(next_iteration_);
  if (!chunk) return false;
  const ChunkRange range = segment_->layout().range(*chunk);
  gather(range, stepper);
  segment_->sqr_norm(*chunk) = stepper.reducer.sum_with_norm(
      stepper.contributions, gradients_[0].subspan(range.first, range.size),
      segment_->rank_sqr_norms(*chunk).first(gradients_.size()));
  if (!sum_board.finish(next_iteration_)) return true;
  for (std::uint32_t other = 0; other < segment_->layout().chunk_count(); ++other)
    board_.contribute(next_iteration_, other);
  board_.announce();
  return true;
}

bool ShmSynchroniser::step_ready_chunk(Stepper& stepper) {
  if (!is_current() || !may_step()) return false;
  const auto chunk = board_.take(next_iteration_);
  if (!chunk) return false;
  const ChunkRange range = segment_->layout().range(*chunk);
  const Version from = from_.part(range.first, range.size), to = to_.part(range.first, range.size);
  if (clips_) {
    if (!stepper.clip_scale)
      stepper.clip_scale =
          clip_scale(result().global_gradient_sqr_norm, options_.optimizer.clip_norm);
    const Contribution sum{.gradient = gradients_[0].data() + range.first,
                           .share = *stepper.clip_scale};
    stepper.reducer.update({&sum, 1}, *step_, from, to, {}, streaming_);
  } else {
    gather(range, stepper);
    segment_->sqr_norm(*chunk) = stepper.reducer.update(
        stepper.contributions, *step_, from, to,
        segment_->rank_sqr_norms(*chunk).first(gradients_.size()), streaming_);
  }
  if (weights_ready_) board_.note_stepped(next_iteration_, *chunk);
  board_.finish(next_iteration_);
  if (weights_ready_) board_.announce();  // to those who wait for this chunk
  return true;
}

// Chunks that this worker has not stepped itself are told of, too, and neighbours at once. Returns
// false if there was none.
bool ShmSynchroniser::tell_of_stepped() {
  std::uint64_t first = 0, last = 0;  // of neighbours
  const auto tell = [&] {
    if (first < last) weights_ready_(to_.weights, first, last);
  };
  const auto told = std::erase_if(untold_, [&](std::uint32_t chunk) {
    if (!board_.is_stepped(next_iteration_, chunk)) return false;
    const ChunkRange range = segment_->layout().range(chunk);
    if (range.first != last) {
      tell();
      first = range.first;
    }
    last = range.last();
    return true;
  });
  tell();
  return told > 0;
}

bool ShmSynchroniser::has_untold() const {
  return std::ranges::any_of(
      untold_, [this](std::uint32_t chunk) { return board_.is_stepped(next_iteration_, chunk); });
}

bool ShmSynchroniser::has_news() const {
  return board_.iteration() > next_iteration_ || interrupted_ ||
         (board_.waiting_chunks() > 0 && may_step()) || has_untold() ||
         (clips_ && gradient_board_.waiting_chunks() > 0);
}

void ShmSynchroniser::wait_for_news() {
  for (int spin = 0; spin < kSpins && !crowded_; ++spin) {
    if (has_news()) return;
    pause_briefly();
  }
  board_.sleep_unless([this] { return has_news(); }, kSleepSeconds);
}

// Adds in the order of chunks, as over TCP, so that the results are bitwise equal.
SyncResult ShmSynchroniser::result() const {
  SyncResult sums;
  for (std::uint32_t chunk = 0; chunk < segment_->layout().chunk_count(); ++chunk) {
    sums.local_gradient_sqr_norm += segment_->rank_sqr_norms(chunk)[rank_];
    sums.global_gradient_sqr_norm += segment_->sqr_norm(chunk);
  }
  return sums;
}

}  // namespace scavenger::ps
