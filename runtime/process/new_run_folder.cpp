#include "runtime/process/new_run_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "runtime/base/error.h"

namespace scavenger {
namespace fs = std::filesystem;

fs::path make_free_run_folder(const std::string& name) {
  std::error_code error;
  fs::create_directories("runs", error);
  for (int number = 1;; ++number) {
    const std::string suffix = number == 1 ? "" : fmt::format("-{}", number);
    const fs::path path = fs::path("runs") / (name + suffix);
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) refuse_run_folder(fs::absolute(path), std::strerror(errno));
  }
}

void refuse_run_folder(const fs::path& path, const std::string& why) {
  throw SystemError({.what = "cannot make the run folder: " + why,
                     .where = path.string(),
                     .remedy = "give --run a folder where you may write"});
}

}  // namespace scavenger
