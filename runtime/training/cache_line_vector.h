// A vector whose elements begin at a cache line, which decides which kernels a library uses, and
// thereby the last bits of the result. What begins elsewhere would be copied before it is used.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace scavenger {

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kCacheLine{64};  // bytes

  CacheLineAllocator() = default;
  template <typename Other>
  explicit CacheLineAllocator(const CacheLineAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kCacheLine));
  }
  void deallocate(T* elements, std::size_t) { ::operator delete(elements, kCacheLine); }
  bool operator==(const CacheLineAllocator&) const = default;
};

template <typename T>
using CacheLineVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace scavenger
