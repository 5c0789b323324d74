// A vector of floats whose resize() leaves new elements uninitialised. They are overwritten anyway,
// and setting tens of megabytes to zero, with a page fault for each 4 KiB, would stall training at
// an iteration boundary.
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
