// A lock among the processes of a host.
#pragma once

#include <filesystem>

#include "runtime/base/file.h"

namespace scavenger {

// Holds the lock from construction to destruction. If the process dies, the operating system
// releases it. The lock file stays, since removing it could let two processes hold the lock at
// once.
class FileLock final {
 public:
  // Creates the lock file if it is missing, and waits while another process holds the lock. Throws
  // SystemError.
  explicit FileLock(const std::filesystem::path& path);

 private:
  FileDescriptor file_;
};

}  // namespace scavenger
