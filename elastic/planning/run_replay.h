// Decides again what a run has decided: its controller, and, if it has them, its search and the
// learning rate that follows the noise.
#pragma once

#include <filesystem>
#include <string>

namespace scavenger::elastic {

struct RunReplay {
  std::string text;     // for people: each difference, and how many decisions were made again
  bool is_same = true;  // nothing was decided otherwise than recorded
};

// Throws InputError if there is no such run, or no record of decisions.
RunReplay replay_run(const std::filesystem::path& run_folder);

}  // namespace scavenger::elastic
