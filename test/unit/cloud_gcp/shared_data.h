// Facts about the cloud that lie in the developers' shared folder: SCAVENGER_SHARED_DATA, or beside
// the checkout. A user's checkout does not have them; tests that need them skip.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace scavenger::gcp {

// Nothing, and a warning, where the file is missing.
inline std::filesystem::path shared_file_or_skip(const std::string& name) {
  const char* const folder = std::getenv("SCAVENGER_SHARED_DATA");
  auto path = std::filesystem::path(folder != nullptr ? folder : SCAVENGER_SHARED_DATA_DEFAULT) /
              "gcp" / name;
  if (std::filesystem::exists(path)) return path;
  WARN("skipped: there is no " << path << "; set SCAVENGER_SHARED_DATA");
  return {};
}

}  // namespace scavenger::gcp
