// The synchroniser of a worker in a job whose workers share memory. No data is sent: gradients are
// summed where the workers have written them, and new weights are written where all workers read
// them. Idle workers step the chunks that are ready, on all of their computing threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/ready_chunks.h"
#include "ps/core/reduction.h"
#include "ps/shm/segment.h"
#include "runtime/base/clock.h"
#include "runtime/config/job_config.h"
#include "runtime/training/in_parallel.h"
#include "runtime/training/synchroniser.h"

namespace scavenger::ps {

// Thread: as Synchroniser. It has more than 20 fields: what is fixed, what a membership sets, and
// what an iteration counts.
class ShmSynchroniser final : public Synchroniser {
 public:
  struct Options {
    OptimizerConfig optimizer;
    std::uint64_t samples_per_epoch = 1;
    // Cores of the host. If the workers have more computing threads than cores, waiting must not
    // take processor time from others.
    std::uint32_t cores = 1;
    InParallel in_parallel = {};  // empty: one thread steps
  };

  ShmSynchroniser(std::unique_ptr<Segment> segment, const Clock& clock, const Options& options);

  bool join(const SyncGroup& group, const InitialWeights& initial_weights) override;
  std::span<float> weights() override { return segment_->version(next_iteration_).weights; }
  std::span<float> gradients() override { return segment_->gradient(slot_); }
  bool keeps_memory() const override { return true; }
  void begin(std::uint64_t iteration) override;
  void gradient_ready(std::uint64_t first, std::uint64_t last) override;
  bool work_ahead() override;
  std::optional<SyncResult> finish() override;
  void tell_of_weights(const WeightsReady& ready) override { weights_ready_ = ready; }
  void interrupt() override;
  void allow() override { interrupted_ = false; }
  std::string problem() const override { return {}; }

 private:
  // What each thread that steps has for itself.
  struct Stepper {
    ChunkReducer reducer;
    std::vector<Contribution> contributions;
    std::optional<float> clip_scale;  // of the iteration, known when all chunks are summed
  };
  using Work = bool (ShmSynchroniser::*)(Stepper&);

  bool work_on_ready_chunks();
  bool share(const ChunkBoard& board, Work work);
  bool sum_ready_chunk(Stepper& stepper);
  bool step_ready_chunk(Stepper& stepper);
  void gather(ChunkRange range, Stepper& stepper) const;
  bool tell_of_stepped();
  bool has_untold() const;
  bool may_step() const;
  bool is_current() const;
  bool has_news() const;
  void wait_for_news();
  SyncResult result() const;

  const std::unique_ptr<Segment> segment_;
  ChunkBoard& board_;
  const bool clips_;
  ChunkBoard& gradient_board_;  // counts the contributed gradients
  const Clock& clock_;
  const Options options_;
  const Optimizer optimizer_;
  ReadyChunks ready_chunks_;
  std::atomic<bool> interrupted_{false};
  WeightsReady weights_ready_;  // may be empty

  // State of the membership.
  scavenger::Membership membership_;
  std::uint32_t rank_ = 0;
  std::uint32_t slot_ = 0;
  std::vector<std::span<float>> gradients_;  // by rank
  std::vector<float> shares_;
  bool streaming_ = false;
  bool crowded_ = false;
  std::vector<Stepper> steppers_;  // one for each thread that may step

  // State of the iteration.
  std::uint64_t next_iteration_ = 0;
  std::optional<OptimizerStep> step_;
  Version from_, to_;
  std::vector<std::uint32_t> untold_;  // chunks of which weights_ready_ does not know yet
};

}  // namespace scavenger::ps
