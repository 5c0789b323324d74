// How much memory a pass takes.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>

namespace scavenger {

// Counts what LibTorch allocates and frees in this thread for as long as it lives.
class MemoryMeter final {
 public:
  MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  // The most that there was at a time, beyond what there was at the beginning.
  std::int64_t most_bytes() const;

 private:
  class Count;
  std::shared_ptr<Count> count_;
  c10::DebugInfoGuard guard_;
};

}  // namespace scavenger
