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
#include "runtime/protocol/control_message.h"
#include "runtime/training/batch.h"
#include "runtime/training/parameter_groups.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// Thread: the worker's compute thread. The references must outlive it.
class HalfBatchProbe final {
 public:
  // `share_of_time`: of the worker's time, that these asides may take.
  HalfBatchProbe(Trainer& trainer, const Clock& clock, std::vector<ParameterGroup> groups,
                 double share_of_time);

  // Whether an aside that takes about as long as the last one, or as `iteration_seconds` if there
  // was none, keeps within the share of the time since the first call.
  bool is_due(double iteration_seconds);

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
  const double share_of_time_;
  std::optional<double> begin_seconds_;
  double spent_seconds_ = 0.0;
  double last_seconds_ = 0.0;
  Batch half_;                       // reused
  std::vector<float> memory_;        // of both gradients, with room to align them
  std::span<float> first_, second_;  // the halves' gradients, in memory_
};

}  // namespace scavenger
