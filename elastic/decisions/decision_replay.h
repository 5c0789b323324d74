// Lets the controller decide again what it has decided in a run, from decisions.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace scavenger::elastic {

struct ReplayedDecisions {
  std::uint64_t inputs = 0;
  std::uint64_t decisions = 0;           // that are as recorded
  std::vector<std::string> differences;  // with the line of the log; the first of each process
};

// Throws InputError where the run has no decisions.jsonl, or a damaged one.
ReplayedDecisions replay_decisions(const std::filesystem::path& run_folder);

}  // namespace scavenger::elastic
