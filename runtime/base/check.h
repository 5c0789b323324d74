// Checks for programming errors. They are active in every build: a failed check prints its
// condition and place, and aborts. Anything that a peer, a file or a user can cause is an exception
// instead (error.h).
#pragma once

namespace scavenger {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace scavenger

#define SCAVENGER_CHECK(condition)                     \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::scavenger::check_failed(#condition, __FILE__, __LINE__))
