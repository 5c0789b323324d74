// Files that a user has named as input.
#pragma once

#include <filesystem>
#include <string>

namespace scavenger {

// Returns the content of the whole file. Throws InputError with this remedy if it cannot be read or
// is not a regular file: a pipe or a device may never end.
std::string read_input_file(const std::filesystem::path& path, const std::string& remedy);

}  // namespace scavenger
