// Lets the controller decide again what it has decided in a run, from decisions.jsonl. What it only
// tells people is wording, and no decision: that may be another in another version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace scavenger::elastic {

struct ReplayedDecisions {
  std::uint64_t inputs = 0;
  std::uint64_t decisions = 0;  // that are as recorded
  // The first of each process of scavenger-train, with the line of the log, and with the build that
  // wrote it if that is not this one: versions may decide otherwise on purpose.
  std::vector<std::string> differences;
};

// Throws InputError if the run has no decisions.jsonl, or a damaged one; SystemError if that
// is not a regular file.
ReplayedDecisions replay_decisions(const std::filesystem::path& run_folder);

}  // namespace scavenger::elastic
