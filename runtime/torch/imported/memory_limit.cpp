#include "runtime/torch/imported/memory_limit.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace scavenger {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  // The CPU allocator has no exception type of its own, and TorchScript's interpreter throws
  // another one with the text of what it has caught.
  const auto* const of_torch = dynamic_cast<const c10::Error*>(&error);
  const std::string_view text =
      of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
  const auto says = [text](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  };
  return says("DefaultCPUAllocator: can't allocate memory") || says("CUDA out of memory");
}

}  // namespace scavenger
