// Measures gradient noise from one worker's batch alone: the gradients of its two halves at the
// same weights. A single worker has no other way to measure its noise; it also gives the noise of
// each layer.
//
// A measurement takes two additional passes, whose gradients train nothing and which do not change
// the model. Results therefore do not depend on when it is made.
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

// The fraction of a worker's time that measurements may take.
struct HalfBatchShare {
  double usual = 0.0;
  // In the job's first iterations, while a search waits for the noise before it chooses.
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

  // Returns whether a measurement that takes as long as the last one, or `pass_seconds` if there
  // was none, stays within the share of the time since the first call. Call it at each iteration.
  bool is_due(std::uint64_t iteration, double pass_seconds);

  // Measures the norms of `batch`, and then makes `gradients` the trainer's gradients again.
  // Requires a batch of at least two samples.
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
  std::optional<double> asked_seconds_;  // time of the last is_due()
  double allowed_seconds_ = 0.0;         // allowed, but not spent yet
  double last_seconds_ = 0.0;
  Batch half_;                       // reused
  std::vector<float> memory_;        // memory of both gradients, with room to align them
  std::span<float> first_, second_;  // the halves' gradients, in memory_
};

}  // namespace scavenger
