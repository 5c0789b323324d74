// Gradient noise from one worker's batch alone: the gradients of its two halves, at the same
// weights. What a single worker needs to see its noise at all, and what tells it for each layer.
//
// An aside: two passes more, whose gradients train nothing, and which leave no trace in the model.
// So results do not depend on when it is done, and it may be done as often as time allows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/config/job_config.h"
#include "runtime/protocol/control_message.h"
#include "runtime/training/batch.h"
#include "runtime/training/parameter_groups.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// How much of a worker's time asides may take.
struct HalfBatchShare {
  double usual = 0.0;
  // In the job's first iterations: of a search, that waits for the noise before it chooses.
  double early = 0.0;
  std::uint64_t early_iterations = 0;

  double at(std::uint64_t iteration) const { return iteration < early_iterations ? early : usual; }
};
HalfBatchShare half_batch_share(const JobConfig& config);

// Thread: the worker's compute thread. The references must outlive it.
class HalfBatchProbe final {
 public:
  HalfBatchProbe(Trainer& trainer, const Clock& clock, std::vector<ParameterGroup> groups,
                 HalfBatchShare share);

  // Whether an aside that takes about as long as the last one, or as `pass_seconds` if there was
  // none, keeps within the share of the time since the first call. To be asked at each iteration.
  bool is_due(std::uint64_t iteration, double pass_seconds);

  // Leaves the trainer with `gradients` in use. Requires a batch of two samples or more.
  HalfBatchNorms measure(const Batch& batch, std::uint64_t iteration, std::uint64_t random_key,
                         std::span<float> gradients);

 private:
  std::vector<double> sqr_norms(std::span<const float> gradient) const;
  void gradient_of(const Batch& batch, std::uint32_t first, std::uint32_t size,
                   std::uint64_t random_key);

  Trainer& trainer_;
  const Clock& clock_;
  const std::vector<ParameterGroup> groups_;
  const HalfBatchShare share_;
  std::optional<double> asked_seconds_;  // when it was last asked
  double allowed_seconds_ = 0.0;         // and not spent
  double last_seconds_ = 0.0;
  Batch half_;                       // reused
  std::vector<float> memory_;        // of both gradients, with room to align them
  std::span<float> first_, second_;  // the halves' gradients, in memory_
};

}  // namespace scavenger
