#include "runtime/base/version.h"

#include "scavenger_build.h"  // written by the build: scripts/cmake/WriteBuildHeader.cmake

namespace scavenger {

std::string version() {
  return SCAVENGER_VERSION;
}

std::string commit() {
  return SCAVENGER_COMMIT;
}

std::string version_line(const std::string& program) {
  return program + " " + version() + " (" + commit() + ")";
}

}  // namespace scavenger
