// Recognises a lack of memory.
#pragma once

#include <exception>

namespace scavenger {

// Returns whether LibTorch or the C++ library has thrown `error` because it ran out of memory.
bool is_out_of_memory(const std::exception& error);

}  // namespace scavenger
