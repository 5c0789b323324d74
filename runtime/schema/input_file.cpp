#include "runtime/schema/input_file.h"

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace scavenger {

std::string read_input_file(const std::filesystem::path& path, const std::string& remedy) {
  try {
    return read_file(path);
  } catch (const SystemError& error) {
    throw InputError({.what = error.problem().what, .where = path.string(), .remedy = remedy});
  }
}

}  // namespace scavenger
