// Keeps a run folder, or the folder of a simulation, to one process at a time.
#pragma once

#include <filesystem>

#include "runtime/base/file.h"

namespace scavenger {

// RUN/lock, locked until the end of its life. Only the owner can open it: who may merely read the
// folder cannot keep the job from going on.
class RunLock final {
 public:
  // Throws InputError if another process works on the folder; SystemError.
  explicit RunLock(const std::filesystem::path& run_folder);

 private:
  FileDescriptor file_;
};

}  // namespace scavenger
