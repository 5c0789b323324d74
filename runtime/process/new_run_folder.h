// The folder of a new job or campaign.
#pragma once

#include <filesystem>
#include <string>

namespace scavenger {

// Makes runs/NAME, or the first of runs/NAME-2, runs/NAME-3, ... that does not exist, and returns
// it. A folder that another process makes at the same moment is not taken. Throws SystemError.
std::filesystem::path make_free_run_folder(const std::string& name);

// Throws SystemError: the run folder cannot be made, since `path` cannot, for the reason `why`.
[[noreturn]] void refuse_run_folder(const std::filesystem::path& path, const std::string& why);

}  // namespace scavenger
