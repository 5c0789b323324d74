// Checks for programming errors, on in every build: they print where and what, and abort.
// Never for anything that a peer, a file or a user can cause (error.h is for those).
#pragma once

namespace scavenger {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace scavenger

#define SCAVENGER_CHECK(condition)                     \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::scavenger::check_failed(#condition, __FILE__, __LINE__))
