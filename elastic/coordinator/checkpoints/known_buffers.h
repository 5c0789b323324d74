// The model's buffers (batch normalisation's statistics) as the job knows them, for workers that
// hold none: each worker has its own, and which ones go on must not depend on who answers first.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace scavenger::elastic {

class KnownBuffers final {
 public:
  // A checkpoint's, or those that all workers were given at a boundary.
  void take(std::uint64_t iteration, std::span<const float> values);
  // Those of a worker that has halted, as they were before `iteration`. What the job goes on with
  // is those of the worker that is furthest, and among equals of the lowest index: the lowest rank.
  void offer(std::uint32_t worker, std::uint64_t iteration, std::span<const float> values);

  // Empty if nothing is known.
  const std::vector<float>& values() const { return values_; }

 private:
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  std::uint64_t iteration_ = 0;
  std::uint32_t worker_ = kNobody;
  std::vector<float> values_;
};

}  // namespace scavenger::elastic
