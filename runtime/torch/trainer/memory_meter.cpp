#include "runtime/torch/trainer/memory_meter.h"

#include <c10/core/Allocator.h>

#include <algorithm>

namespace scavenger {

// LibTorch reports each allocation to its profiler; this class acts as one.
class MemoryMeter::Count final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t,
                         c10::Device) override {
    now_ += bytes;  // negative if memory is freed
    most_ = std::max(most_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t most() const { return most_; }

 private:
  std::int64_t now_ = 0;
  std::int64_t most_ = 0;
};

MemoryMeter::MemoryMeter()
    : count_(std::make_shared<Count>()), guard_(c10::DebugInfoKind::PROFILER_STATE, count_) {}

std::int64_t MemoryMeter::most_bytes() const {
  return count_->most();
}

}  // namespace scavenger
