// How long the segments of simulations are, from one checkpoint to the next. Pure.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace scavenger::campaign {

// The mean of what checkpoints cost: from the end of a segment until the next one computes.
class CheckpointCost final {
 public:
  void add(double seconds);
  double seconds() const;  // never 0

 private:
  double sum_seconds_ = 0.0;
  double count_ = 0.0;
};

struct SegmentQuestion {
  std::uint64_t from = 0;
  std::uint64_t steps = 0;  // of the whole simulation
  std::uint64_t multiple = 1;
  double interval_seconds = 0.0;
  double steps_per_second = 0.0;   // 0: unknown
  double most_seconds = HUGE_VAL;  // that it may take along with the rest
  std::uint32_t lost_trials = 0;   // segments that were to measure it, and were lost
};

// The step at which the segment ends. Without a measured speed it is 1/64 of the simulation, to
// measure one, and half of that after each that was lost: no machine may live so long. The rest is
// taken along if it is less than a fifth of the segment.
std::uint64_t segment_end(const SegmentQuestion& question);

}  // namespace scavenger::campaign
