// Measures how much memory a pass takes.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>

namespace scavenger {

// Counts LibTorch's allocations in this thread during its lifetime.
class MemoryMeter final {
 public:
  MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  // Returns the peak of the allocated bytes, relative to the beginning.
  std::int64_t most_bytes() const;

 private:
  class Count;
  std::shared_ptr<Count> count_;
  c10::DebugInfoGuard guard_;
};

}  // namespace scavenger
