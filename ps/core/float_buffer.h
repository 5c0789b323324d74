// Owned memory for floats: aligned to cache lines, and uninitialised.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace scavenger::ps {

// Unlike std::vector it leaves its floats uninitialised. They are overwritten anyway, and writing
// zeros to tens of megabytes, with a page fault for each 4 KiB, would stall training.
class FloatBuffer final {
 public:
  FloatBuffer() = default;
  explicit FloatBuffer(std::uint64_t size);

  std::span<float> span() { return {floats_.get(), size_}; }
  std::span<const float> span() const { return {floats_.get(), size_}; }
  std::uint64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* floats) const;
  };
  std::unique_ptr<float[], Free> floats_;
  std::uint64_t size_ = 0;
};

}  // namespace scavenger::ps
