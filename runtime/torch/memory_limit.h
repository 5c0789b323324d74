// Memory that does not suffice.
#pragma once

#include <exception>

namespace scavenger {

// Whether LibTorch, or the C++ library, has thrown this because there was no memory left.
bool is_out_of_memory(const std::exception& error);

}  // namespace scavenger
