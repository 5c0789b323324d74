#include "runtime/data/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "runtime/base/error.h"

namespace scavenger {

FileLock::FileLock(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  const auto fail = [&path](const char* what) {
    throw SystemError(errno,
                      {.what = what,
                       .where = path.string(),
                       .remedy = "set SCAVENGER_CACHE_DIR to a local folder that you can write"});
  };
  if (file_.get() < 0) fail("cannot create the lock file");
  while (::flock(file_.get(), LOCK_EX) != 0)
    if (errno != EINTR) fail("cannot lock the file");
}

}  // namespace scavenger
