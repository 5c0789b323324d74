// Counts what this thread allocates: the test's operator new keeps the books.
#pragma once

#include <cstdint>

namespace scavenger {

std::uint64_t bytes_allocated_by_this_thread();

// Since it was made.
class AllocationMeter final {
 public:
  std::uint64_t bytes() const { return bytes_allocated_by_this_thread() - start_; }

 private:
  const std::uint64_t start_ = bytes_allocated_by_this_thread();
};

}  // namespace scavenger
