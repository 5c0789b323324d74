#include "runtime/torch/imported/memory_limit.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace scavenger {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  // The CPU allocator has no exception type of its own.
  const auto* const of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr &&
         std::string_view(of_torch->what_without_backtrace()).find("can't allocate memory") !=
             std::string_view::npos;
}

}  // namespace scavenger
