// A lock between the processes of a host.
#pragma once

#include <filesystem>

#include "runtime/base/file.h"

namespace scavenger {

// Held from construction to destruction; given back by the operating system when the process dies,
// however it dies. The lock file stays: removing it would let two processes hold two locks.
class FileLock final {
 public:
  // Creates the lock file where it is missing, and waits for as long as another process holds the
  // lock. Throws SystemError.
  explicit FileLock(const std::filesystem::path& path);

 private:
  FileDescriptor file_;
};

}  // namespace scavenger
