#include "runtime/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace scavenger {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: a check failed, which is a defect of Scavenger: %s\n", file, line,
               condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace scavenger
