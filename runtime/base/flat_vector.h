// A vector of floats that resize() leaves uninitialised: setting tens of megabytes to zero that are
// overwritten anyway, with a page fault for each 4 KiB, would stall training at a boundary.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace scavenger {

template <typename T>
struct UntouchedAllocator : std::allocator<T> {
  template <typename Other>
  struct rebind {
    using other = UntouchedAllocator<Other>;
  };
  template <typename Item, typename... Arguments>
  void construct(Item* place, Arguments&&... arguments) {
    if constexpr (sizeof...(Arguments) == 0)
      ::new (static_cast<void*>(place)) Item;
    else
      ::new (static_cast<void*>(place)) Item(std::forward<Arguments>(arguments)...);
  }
};

using FlatVector = std::vector<float, UntouchedAllocator<float>>;

}  // namespace scavenger
