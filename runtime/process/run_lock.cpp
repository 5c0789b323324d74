#include "runtime/process/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr mode_t kOwnerOnly = 0600;

}  // namespace

RunLock::RunLock(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = run_folder / "lock";
  const auto fail = [&path](const char* what) {
    throw SystemError(errno, {.what = what,
                              .where = path.string(),
                              .remedy = "see that the run folder is yours, and may be written to"});
  };
  file_ = FileDescriptor(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kOwnerOnly));
  if (file_.get() < 0) fail("cannot open the run's lock");
  if (::fchmod(file_.get(), kOwnerOnly) != 0) fail("cannot keep others from the run's lock");
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail("cannot lock the run");
  throw InputError({.what = "another process is working in this folder",
                    .where = run_folder.string(),
                    .remedy = "wait until it has ended, or stop it first"});
}

}  // namespace scavenger
